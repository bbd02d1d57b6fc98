"""What a worker opens once and keeps: a model, a connection."""

import threading
from typing import Callable, Dict, Generic, TypeVar

from . import probe

T = TypeVar("T")


class PerWorker(Generic[T]):
    """One ``T`` for each worker, made by ``open_one`` at the first call of ``own``.

    A worker is a thread of the operating system that is there until the run ends, and its identity
    is the key. ``threading.local`` cannot do this: the threads of bytewax are Rust's, and Python
    forgets what is local to such a thread each time that it releases the interpreter. Every opening
    is counted by the probe, and the harness refuses a run with more of them than workers.
    """

    def __init__(self, open_one: Callable[[], T]) -> None:
        self._open_one = open_one
        self._of_thread: Dict[int, T] = {}

    def own(self) -> T:
        """What the calling worker has; opened now if it has none."""
        # No lock: a thread looks at its own entry only.
        thread = threading.get_ident()
        if thread not in self._of_thread:
            probe.opened()
            self._of_thread[thread] = self._open_one()
        return self._of_thread[thread]

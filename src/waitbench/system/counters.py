"""What a program and all that it starts use, counted by the kernel from outside: exactly.

Counting events are opened by the thread that starts the program, and are enabled when it is
executed. The kernel adds one to a number at each call or switch; nothing is sampled, and nothing
else runs. A reading is the sum over all descendants, living and dead, whatever session they are in.
"""

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from waitbench.system.perf_event import (
    DISABLED,
    ENABLE_ON_EXEC,
    INHERIT,
    TYPE_SOFTWARE,
    TYPE_TRACEPOINT,
    open_event,
)

TASK_CLOCK = (TYPE_SOFTWARE, 1)
"""CPU time in ns."""
CONTEXT_SWITCHES = (TYPE_SOFTWARE, 3)


def hits_of(tracepoint: int) -> tuple[int, int]:
    """How often a tracepoint is passed, by its number: ``instruments.find_system_calls``."""
    return TYPE_TRACEPOINT, tracepoint


class TreeCounters:
    """Counters of the programs that this thread starts while they are open, and of their trees.

    Not of the thread itself. To be closed, or used as a context manager.
    """

    def __init__(self, events: Mapping[str, tuple[int, int]]) -> None:
        """Opens a counter for each event, by name. Raises ``OSError`` if the kernel refuses one."""
        self._descriptors: dict[str, int] = {}
        try:
            for name, (kind, number) in events.items():
                flags = DISABLED | INHERIT | ENABLE_ON_EXEC
                self._descriptors[name] = open_event(kind, number, flags)
        except OSError:
            self.close()
            raise

    def reading(self) -> dict[str, int]:
        """What was counted so far, by name; from any thread."""
        return {name: read_counter(one) for name, one in self._descriptors.items()}

    def close(self) -> None:
        """Closes the counters; they can no longer be read."""
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])

    def __enter__(self) -> "TreeCounters":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def read_counter(descriptor: int) -> int:
    """What an event has counted so far."""
    (count,) = struct.unpack("Q", os.read(descriptor, 8))
    return int(count)


@contextmanager
def answering(answer: Callable[[], int]) -> Iterator[str]:
    """Tells whoever connects ``answer()`` at that moment, in decimal digits; yields where.

    That is the name of an abstract socket (Linux), which no length of a path limits and nobody has
    to clear away. A thread blocks until somebody asks: silence costs nothing.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("")  # the kernel gives it a name that nobody has
        listener.listen(128)
        thread = threading.Thread(target=_answer, args=(listener, answer), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1:].decode("ascii")
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
            thread.join()


def _answer(listener: socket.socket, answer: Callable[[], int]) -> None:
    while True:
        try:
            asker, _ = listener.accept()
        except OSError:  # shut down
            return
        with asker, suppress(OSError):  # it is gone
            asker.sendall(b"%d" % answer())

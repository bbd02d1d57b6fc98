"""The least that a stream processor in Python can be: threads that block, and a queue between them.

Each source has a thread of its own, which waits for its next item. One thread takes what they have
read, holds or maps it, and writes it. Whoever has nothing to do waits on a ``threading.Condition``,
with a time-out where a time is known at which there will be: no thread looks whether anything is
there over and over.
"""

import threading
import time
from collections import deque
from typing import Any, Callable, Deque, List, Optional, Protocol, Sequence


class Source(Protocol):
    """What a thread reads."""

    is_over: bool
    """Whether there will be no more items."""
    wait_s: float
    """Seconds until there is an item or the end; 0 or less if there is."""

    def next_item(self) -> Optional[Any]:
        """One item; ``None`` if there is none yet, or none any more."""


class Held(Protocol):
    """A stateful step in front of the others."""

    due_s: Optional[float]
    """When it is to be woken, on the monotonic clock; ``None`` for never."""

    def got(self, item: Any) -> List[Any]:
        """Takes an item; returns what goes on."""

    def woken(self) -> List[Any]:
        """It is time; returns what goes on."""

    def ended(self) -> List[Any]:
        """There will be no more items; returns what goes on."""


class Dataflow:
    """Sources, a held state if there is any, a function of one item, and an output."""

    def __init__(
        self,
        sources: Sequence[Source],
        work: Callable[[Any], Any],
        write: Callable[[Any], None],
        held: Optional[Held] = None,
    ) -> None:
        self._sources = sources
        self._work = work
        self._write = write
        self._held = held
        self._items: Deque[Any] = deque()
        self._reading = len(sources)
        self._failed: List[BaseException] = []
        self._changed = threading.Condition()

    def run(self) -> None:
        """Carries everything to its end. Raises what any thread has raised."""
        threads = [
            threading.Thread(target=self._read, args=(source,), daemon=True)
            for source in self._sources
        ]
        for thread in threads:
            thread.start()
        self._drain()
        if self._failed:
            raise self._failed[0]
        for thread in threads:
            thread.join()

    def _read(self, source: Source) -> None:
        nothing = threading.Condition()
        try:
            with nothing:
                while not source.is_over and not self._failed:
                    item = source.next_item()
                    if item is not None:
                        self._hand_over(item)
                    elif not source.is_over:
                        # What a read of a socket would do: block until there is something.
                        nothing.wait(max(source.wait_s, 0))
        except BaseException as error:
            self._failed.append(error)
        with self._changed:
            self._reading -= 1
            self._changed.notify()

    def _hand_over(self, item: Any) -> None:
        with self._changed:
            self._items.append(item)
            self._changed.notify()

    def _drain(self) -> None:
        held = self._held
        while True:
            with self._changed:
                while not self._items and self._reading and not self._is_due():
                    self._changed.wait(self._wait_s())
                taken, ended = list(self._items), not self._reading
                self._items.clear()
            if self._failed:
                return
            for item in taken:
                self._emit([item] if held is None else held.got(item))
            if held is not None and self._is_due():
                self._emit(held.woken())
            if ended:
                # Nothing is read any more, so nothing was added since.
                self._emit([] if held is None else held.ended())
                return

    def _emit(self, items: Sequence[Any]) -> None:
        for item in items:
            self._write(self._work(item))

    def _is_due(self) -> bool:
        wait_s = self._wait_s()
        return wait_s is not None and wait_s <= 0

    def _wait_s(self) -> Optional[float]:
        if self._held is None or self._held.due_s is None:
            return None
        return self._held.due_s - time.monotonic()

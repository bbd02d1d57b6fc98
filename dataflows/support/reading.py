"""A reader as engines read it that wait by themselves, and do not poll."""

from typing import Any, Callable, Optional

from . import probe


class WatchedReader:
    """A reader that reports to the probe: its items, when it was begun, and its end.

    The time until it has anything to say, ``wait_s``, is what a socket would tell by becoming
    readable: whoever reads it may sleep so long, however it likes to.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._probe = probe.source(polled=False)
        self._next_item: Callable[[], Any] = reader.next_item
        self._is_begun = False
        self.is_over = False

    @property
    def wait_s(self) -> float:
        """Seconds until there is an item, or the end; 0 or less if there is."""
        return self._reader.wait_ns / 1e9 if self._is_begun else 0.0

    def next_item(self) -> Optional[Any]:
        """One item; ``None`` if there is none yet, or none any more: see ``is_over``."""
        if not self._is_begun:
            self._is_begun = True
            probe.first_poll()
        try:
            item = self._next_item()
        except StopIteration:
            self.is_over = True
            probe.end_of_input()
            return None
        if item is not None:
            self._probe.items += 1
            self._probe.ident_sum += item[0]
        return item

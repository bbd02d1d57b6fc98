"""The items of the input workloads: where they come from, what is done to them, where they go.

An item is ``(ident, due_ns, digit)``: a number unique within the run, the time on the monotonic clock at which it was due,
and a random decimal digit. The last step before the output turns it into a small string that carries all three.
"""

import random
import sys
import time
from typing import Any, Callable, List, Optional, Tuple

from . import probe

Item = Tuple[int, int, int]


class Reader:
    """``count`` items with identities from ``first_ident``, one each ``interval_s`` seconds, or all at once for 0.

    Due times form a fixed schedule that starts at the first poll, so a late item does not delay those behind it. Asked
    before the next item is due, it answers ``None``, as a source without news must.
    """

    def __init__(self, first_ident: int, count: int, interval_s: float, seed: int) -> None:
        self._ident = first_ident
        self._end = first_ident + count
        self._interval_ns = int(interval_s * 1e9)
        self._due_ns: Optional[int] = None
        self._digit = random.Random(seed * 1_000_003 + first_ident).randrange

    def next_item(self) -> Optional[Item]:
        if self._ident >= self._end:
            raise StopIteration
        now = time.monotonic_ns()
        due = self._due_ns
        if due is None:
            due = self._due_ns = now + self._interval_ns
        if now < due:
            return None
        self._due_ns = due + self._interval_ns if self._interval_ns else now
        ident = self._ident
        self._ident = ident + 1
        return (ident, due, self._digit(10))


def heavy(heaviness: int) -> Callable[[Item], Item]:
    """A step that fills and sorts a list of ``heaviness`` integers for each item, then passes the item on."""

    def work(item: Item) -> Item:
        state = item[0]
        values: List[int] = []
        for _ in range(heaviness):
            state = (state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
            values.append(state)
        values.sort()
        return item

    return work


def to_text(item: Item) -> str:
    """The small string that an item ends as."""
    return "%d %d %d" % (item[2], item[0], item[1])


class StdoutWriter:
    """Writes one line an item to stdout, as bytewax's own standard-output sink does, and counts it."""

    def __init__(self) -> None:
        self._probe = probe.sink()
        self._write: Any = sys.stdout.write

    def write(self, text: str) -> None:
        self._write(text + "\n")
        ident = int(text.split(" ", 2)[1])
        self._probe.items += 1
        self._probe.ident_sum += ident

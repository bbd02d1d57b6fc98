"""The items of the dataflows: readers, steps and a writer for them.

An item is ``(ident, due_ns, digit)``: a number that is unique in the run, the time of the monotonic
clock at which the item was due, and a random decimal digit. The last step makes a string of them.
"""

import random
import sys
import time
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, List, Optional, Tuple, Type

from . import probe
from .holding import Alarm, Hold, Window

Item = Tuple[int, int, int]

MOST_READING_WORKERS = 16
"""The most workers that have a source. More would only make start-up longer."""


class Schedule:
    """The times at which the items of a source are due, in ns after its first poll.

    ``burst`` items are due every ``interval_s`` seconds; with 0, all items at once. ``idle_s`` is
    the time between the last item and the end of the input.
    """

    def __init__(self, interval_s: float = 0.0, burst: int = 1, idle_s: float = 0.0) -> None:
        self.interval_ns = int(interval_s * 1e9)
        self.burst = burst
        self.idle_ns = int(idle_s * 1e9)

    def due_ns(self, number: int) -> int:
        """The time at which an item is due; ``number`` counts from 0."""
        return self.interval_ns * (number // self.burst + 1)


class Reader:
    """Reads ``count`` items, numbered from ``first_ident``, by a schedule.

    The schedule starts at the first poll, so an item that is read late does not delay the others.
    """

    def __init__(self, first_ident: int, count: int, schedule: Schedule, seed: int) -> None:
        self._first_ident = first_ident
        self._count = count
        self._schedule = schedule
        self._digit = random.Random(seed * 1_000_003 + first_ident).randrange
        self._number = 0
        self._start_ns: Optional[int] = None
        self._due_ns = 0

    def next_item(self) -> Optional[Item]:
        now = time.monotonic_ns()
        if self._start_ns is None:
            self._start_ns = now
            self._set_due()
        due = self._due_ns
        if now < due:
            return None
        number = self._number
        if number >= self._count:
            raise StopIteration
        self._number = number + 1
        self._set_due()
        return (self._first_ident + number, due, self._digit(10))

    def _set_due(self) -> None:
        """Sets the time at which the next item, or the end of the input, is due."""
        assert self._start_ns is not None, "set at the first poll"
        schedule = self._schedule
        if self._number < self._count:
            self._due_ns = self._start_ns + schedule.due_ns(self._number)
        elif schedule.idle_ns:
            self._due_ns = self._start_ns + schedule.due_ns(self._count - 1) + schedule.idle_ns

    @property
    def wait_ns(self) -> int:
        """The time until the next item, or the end of the input, is due; negative if overdue."""
        return 0 if self._start_ns is None else self._due_ns - time.monotonic_ns()


class ScheduledReader(Reader):
    """A reader that also returns the time of its next item, as sources can from bytewax 0.17 on."""

    def next_awake(self) -> Optional[datetime]:
        wait_ns = self.wait_ns
        if wait_ns <= 0:
            return None
        # Rounded up: a poll that is a microsecond early would need another poll.
        return datetime.now(timezone.utc) + timedelta(microseconds=-(-wait_ns // 1000))


def reader_of_each_worker(
    count: int, schedule: Schedule, seed: int, kind: Type[Reader] = Reader
) -> Callable[[int, int], Reader]:
    """The function that ``api.dynamic_source`` takes.

    It builds a reader of ``count`` items for the first ``MOST_READING_WORKERS`` workers; the others
    have no items.
    """

    def build_reader(worker_index: int, _worker_count: int) -> Reader:
        if worker_index >= MOST_READING_WORKERS:
            return Reader(0, 0, Schedule(), seed)
        return kind(worker_index * count, count, schedule, seed)

    return build_reader


def heavy(heaviness: int) -> Callable[[Item], Item]:
    """A step that fills and sorts a list of ``heaviness`` integers for each item."""

    def work(item: Item) -> Item:
        state = item[0]
        values: List[int] = []
        for _ in range(heaviness):
            state = (state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
            values.append(state)
        values.sort()
        return item

    return work


def steps(heavy_map: bool, heaviness: int) -> List[Tuple[str, Callable[[Any], Any]]]:
    """The steps between source and sink, as ``(name, function)``."""
    first: List[Tuple[str, Callable[[Any], Any]]] = (
        [("heavy", heavy(heaviness))] if heavy_map else []
    )
    return [*first, ("to_text", to_text)]


def to_text(item: Item) -> str:
    """The string of an item that is written: digit, number and due time."""
    return "%d %d %d" % (item[2], item[0], item[1])


def hold(items_per_source: int, window: float, alarm: float) -> Optional[Hold]:
    """A window or an alarm of so many seconds, with a key for each source; 0 stands for none.

    Raises ``ValueError`` if both are given.
    """
    if window and alarm:
        raise ValueError("window and alarm: one of them must be 0")

    def key(item: Item) -> str:
        return str(item[0] // items_per_source)

    if window:
        return Window(key, window)
    return Alarm(key, alarm) if alarm else None


class StdoutWriter:
    """Writes a line for each item to stdout, like bytewax's sink for stdout, and counts the items.

    ``held`` items come from a window: they are not late, so their lateness is not recorded.
    """

    def __init__(self, *, held: bool = False) -> None:
        self._probe = probe.sink()
        self._write: Any = sys.stdout.write
        self._held = held

    def write(self, text: str) -> None:
        self._write(text + "\n")
        _, ident, due_ns = text.split(" ")
        if self._held:
            self._probe.receive_held(int(ident))
        else:
            self._probe.receive(int(ident), int(due_ns))

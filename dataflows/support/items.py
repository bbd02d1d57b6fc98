"""The items of the input workloads: when they are due, what is done to them, where they go.

An item is ``(ident, due_ns, digit)``: a number unique within the run, the time on the monotonic
clock at which it was due, and a random decimal digit. The last step before the output turns it into
a small string that carries all three.
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
"""How many workers have a source of their own at most: more would only add start-up."""


class Schedule:
    """When each item of a source is due, in ns after its first poll.

    ``interval_s`` apart, ``burst`` at a time; for 0 all at once. ``idle_s`` is silence at the end,
    before the input ends.
    """

    def __init__(self, interval_s: float = 0.0, burst: int = 1, idle_s: float = 0.0) -> None:
        self.interval_ns = int(interval_s * 1e9)
        self.burst = burst
        self.idle_ns = int(idle_s * 1e9)

    def due_ns(self, number: int) -> int:
        """When the item with this number, from 0, is due."""
        return self.interval_ns * (number // self.burst + 1)


class Reader:
    """``count`` items with identities from ``first_ident``, by a schedule.

    The schedule is fixed at the first poll, so an item that is late does not delay those behind it.
    Asked before the next item is due, it answers ``None``, as a source without news must.
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
        """Sets when the next item, or the end of the input, is due."""
        assert self._start_ns is not None, "set at the first poll"
        schedule = self._schedule
        if self._number < self._count:
            self._due_ns = self._start_ns + schedule.due_ns(self._number)
        elif schedule.idle_ns:
            self._due_ns = self._start_ns + schedule.due_ns(self._count - 1) + schedule.idle_ns

    @property
    def wait_ns(self) -> int:
        """How long until there is anything to say."""
        return 0 if self._start_ns is None else self._due_ns - time.monotonic_ns()


class ScheduledReader(Reader):
    """The same, but it says when to be asked next, as sources can from bytewax 0.17 on."""

    def next_awake(self) -> Optional[datetime]:
        wait_ns = self.wait_ns
        if wait_ns <= 0:
            return None
        # Rounded up: asked a microsecond early, it would have to be asked once more.
        return datetime.now(timezone.utc) + timedelta(microseconds=-(-wait_ns // 1000))


def reader_of_each_worker(
    count: int, schedule: Schedule, seed: int, kind: Type[Reader] = Reader
) -> Callable[[int, int], Reader]:
    """What ``api.dynamic_source`` takes: a reader of ``count`` items for each worker that reads.

    The first ``MOST_READING_WORKERS`` do; the input of the others is empty.
    """

    def build_reader(worker_index: int, _worker_count: int) -> Reader:
        if worker_index >= MOST_READING_WORKERS:
            return Reader(0, 0, Schedule(), seed)
        return kind(worker_index * count, count, schedule, seed)

    return build_reader


def heavy(heaviness: int) -> Callable[[Item], Item]:
    """A step that fills and sorts a list of ``heaviness`` integers for each item it passes on."""

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
    """What is done to each item between source and sink."""
    first: List[Tuple[str, Callable[[Any], Any]]] = (
        [("heavy", heavy(heaviness))] if heavy_map else []
    )
    return [*first, ("to_text", to_text)]


def to_text(item: Item) -> str:
    """The small string that an item ends as."""
    return "%d %d %d" % (item[2], item[0], item[1])


def hold(items_per_source: int, window: float, alarm: float) -> Optional[Hold]:
    """What holds items, or a timer, for each source: windows of so many seconds, or an alarm.

    0 is none. Raises ``ValueError`` for both at once.
    """
    if window and alarm:
        raise ValueError("window and alarm: one of them must be 0")

    def key(item: Item) -> str:
        return str(item[0] // items_per_source)

    if window:
        return Window(key, window)
    return Alarm(key, alarm) if alarm else None


class StdoutWriter:
    """Writes one line an item to stdout, as bytewax's own sink for it does, and counts it.

    What a window has held is not late: it came out when it had to.
    """

    def __init__(self, *, held: bool = False) -> None:
        self._probe = probe.sink()
        self._write: Any = sys.stdout.write
        self._held = held

    def write(self, text: str) -> None:
        self._write(text + "\n")
        _, ident, due_ns = text.split(" ")
        if self._held:
            self._probe.got_on_time(int(ident))
        else:
            self._probe.got(int(ident), int(due_ns))

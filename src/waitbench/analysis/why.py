"""Where two revisions wait and work -> lines, sorted by what changed.

What comes first is what certainly changed by most, not what changed by most. How often a thread
wakes up, and how much CPU it uses, is known within a range: both vary while they are counted, and
would be more if the thread had never had to wait for a CPU that others used. Which share of that is
of one line is known by a few looks. What lies between the ranges of two revisions is certain. A
thread that only one of them has needs none of that: it is new, or gone, whatever the machine does.

CPU is of a whole thread. It stands where the thread waits if it only looks there whether there is
anything to do; else it has a line of its own, where the thread works.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from waitbench.analysis.statistics import CONFIDENCE, t_quantile
from waitbench.model.why import KERNEL, PYTHON, Counted, Frame, Place, Why

_MUCH_OF_WORK = 0.4
"""A line of work is the innermost function that has so much of it."""
_WAITS_ONLY_S = 0.002
"""CPU between two wake-ups up to which who wakes up only looks whether there is anything to do."""
_VARIES = 0.1
"""By such a share of itself a figure may be off in a run, besides all that is known."""
_LEAST_FREE = 0.1
"""Who was held up for more of the time than the rest of this is taken to be for as long."""
_PRICE_S = 5e-5
"""What a wake-up counts for beside CPU, where lines are put in order."""
_ENDS, _SHOWN = 2, 5
"""So many functions of either end are shown of a stack with more than so many."""


@dataclass(frozen=True)
class Cost:
    """What a line costs one revision."""

    wakeups_per_s: float = 0.0
    cpu_share: float = 0.0

    @property
    def price(self) -> float:
        """In CPU seconds a second."""
        return max(self.cpu_share, self.wakeups_per_s * _PRICE_S)


Range = tuple[float, float]
"""The least and the most that something may be."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """Where one thread waits or works, in both revisions."""

    process: str
    thread: str
    waits: bool
    frames: tuple[Frame, ...]
    """The functions that tell it from others, the outermost first; empty where none is known."""
    calls: tuple[str, ...]
    """The system calls that it sleeps in."""
    costs: tuple[Cost, ...]
    """Of each revision, the baseline first."""
    change: float
    """By how much it certainly costs more or less, in CPU seconds a second."""

    @property
    def size(self) -> float:
        """What it costs the revision that it costs most, likewise."""
        return max(cost.price for cost in self.costs)


def lines(several: Sequence[Why]) -> list[Line]:
    """Those of a revision, or of two: what changed most first, then what costs most."""
    threads = [_threads(why) for why in several]
    if len(threads) > 1:
        before, after = threads
        threads[0] = _matched(before, after, partial(_likeness_of_threads, before, after))
    names = dict.fromkeys(who for of_one in reversed(threads) for who in of_one)
    of_each = ([of_one.get(who, _Thread()) for of_one in threads] for who in names)
    found = [line for thread in of_each for line in _lines_of(thread)]
    return sorted(found, key=lambda line: (-line.change, -line.size))


def total(parts: Iterable[Place | Cost]) -> Cost:
    """What some places cost together."""
    parts = list(parts)
    return Cost(sum(one.wakeups_per_s for one in parts), sum(one.cpu_share for one in parts))


_NUMBERED = re.compile(r"^(Thread|Dummy|ThreadPoolExecutor|asyncio)-\d+(?:_\d+)?")


def unnumbered(thread: str) -> str:
    """A thread's name without the number that says how many were made before it."""
    return _NUMBERED.sub(r"\1", thread)


_Who = tuple[str, str]
"""A process and a thread, unnumbered."""
_Key = tuple[tuple[str, str], ...]
"""What tells one place of a thread from its others: name and file of its functions.

Where no function is known, the system calls, without a name.
"""


@dataclass(frozen=True, kw_only=True)
class _Thread:
    """All that a revision has of threads with one name; nothing where only the other one has it."""

    places: tuple[Place, ...] = ()
    wakeups: Range = (0.0, 0.0)
    """Within what the mean of all wake-ups is known, as shares of it."""
    cpu: Range = (0.0, 0.0)

    @property
    def waiting(self) -> list[Place]:
        return [place for place in self.places if place.waits]

    @property
    def working(self) -> list[Place]:
        return [place for place in self.places if not place.waits]

    @property
    def works_elsewhere(self) -> bool:
        """Whether it does more than to look whether there is anything to do."""
        if not self.working:
            return False
        at_work = _names(_innermost(self.working))
        around = any(_names(_own(one))[: len(at_work)] == at_work for one in self.waiting)
        most_s = _WAITS_ONLY_S * total(self.places).wakeups_per_s
        return total(self.working).cpu_share > most_s or not around

    @property
    def by_key(self) -> dict[_Key, list[Place]]:
        """Where it waits, most often first."""
        found: dict[_Key, list[Place]] = {}
        for place in self.waiting:
            found.setdefault(_key(place), []).append(place)
        return dict(sorted(found.items(), key=lambda one: -total(one[1]).wakeups_per_s))

    @property
    def ends(self) -> set[tuple[object, ...]]:
        """Of each place whether a function is known, and the outermost and the innermost name."""
        found = set()
        for place in self.places:
            key = _key(place)
            names = (name or call for name, call in (*key[:1], *key[-1:]))
            found.add((bool(_innermost_name(key)), place.waits, *names))
        return found

    def seen_at(self, places: Sequence[Place]) -> Range:
        """Within what the share is known that is of some places where it waits, by its looks."""
        looks = sum(place.looks for place in self.waiting)
        seen = sum(place.looks for place in places)
        if not looks:
            return 0.0, 1.0
        # Here, not above: scipy takes half a second to import.
        from scipy.stats import binomtest

        known = binomtest(seen, looks).proportion_ci(CONFIDENCE)
        return float(known.low), float(known.high)


def _threads(why: Why) -> dict[_Who, _Thread]:
    places: dict[_Who, list[Place]] = {}
    for place in why.places:
        places.setdefault((place.process, unnumbered(place.thread)), []).append(place)
    found = {}
    for who, of_thread in places.items():
        counted = [c for c in why.threads if (c.process, unnumbered(c.thread)) == who]
        found[who] = _Thread(
            places=tuple(of_thread),
            wakeups=_range([one.wakeups_per_s for one in counted], counted),
            cpu=_range([one.cpu_share for one in counted], counted),
        )
    return found


def _range(figures: Sequence[Sequence[float]], counted: Sequence[Counted]) -> Range:
    """Within what a mean is known, as shares of it: by how it varied, and was held up."""
    parts = [math.fsum(of_one) for of_one in zip(*figures, strict=True)]
    mean = math.fsum(parts) / len(parts) if parts else 0.0
    wide = 0.0
    if len(parts) > 1 and mean > 0:
        squares = math.fsum((one - mean) ** 2 for one in parts) / (len(parts) - 1)
        quantile = t_quantile((1 + CONFIDENCE) / 2, len(parts) - 1)
        wide = math.sqrt(squares / len(parts)) / mean * quantile
    # Who sleeps for so long after each piece of work does so less often when it is held up.
    delayed = max((one.delayed for one in counted), default=0.0)
    held_up = 1 / max(1 - delayed, _LEAST_FREE)
    return max(0.0, 1 - wide) * (1 - _VARIES), (held_up + wide) / (1 - _VARIES)


_K = TypeVar("_K")
_V = TypeVar("_V")


def _matched(
    before: Mapping[_K, _V], after: Mapping[_K, _V], likeness: Callable[[_K, _K], float]
) -> dict[_K, _V]:
    """What a baseline has, by the keys of the candidate.

    What only one of both has is the same as what only the other has if there is any likeness; that
    which is most alike.
    """
    left = [key for key in after if key not in before]
    found = {}
    for key, value in before.items():
        alike = {} if key in after else {other: likeness(key, other) for other in left}
        same = max((one for one in alike if alike[one] > 0), key=alike.__getitem__, default=key)
        left = [other for other in left if other != same]
        found[same] = value
    return found


def _likeness_of_threads(
    before: Mapping[_Who, _Thread], after: Mapping[_Who, _Thread], who: _Who, other: _Who
) -> float:
    """Programs, and threads named after them, are called as one likes: by where they wait or work.

    Where only system calls are known, their processes must be called the same.
    """
    same_process, same_thread = who[0] == other[0], who[1] == other[1]
    shared = before[who].ends & after[other].ends
    is_same = any(named or same_process for named, *_ in shared)
    return 1 + 2 * same_process + same_thread if is_same else 0


def _likeness_of_places(after: Mapping[_Key, Sequence[Place]], key: _Key, other: _Key) -> float:
    """One innermost function is one place: what called it was renamed, or moved."""
    name = _innermost_name(key)
    is_same = name and name == _innermost_name(other)
    return 1 + total(after[other]).wakeups_per_s if is_same else 0


def _lines_of(threads: Sequence[_Thread]) -> list[Line]:
    """The lines of one thread, of each revision."""
    works = any(thread.works_elsewhere for thread in threads)
    places = [thread.by_key for thread in threads]
    if len(places) > 1:
        before, after = places
        places[0] = _matched(before, after, partial(_likeness_of_places, after))
    keys = dict.fromkeys(key for of_one in reversed(places) for key in of_one)
    found = [_waits(threads, [of_one.get(key, []) for of_one in places], works) for key in keys]
    if works:
        found.append(_works(threads))
    # A thread that only one of them has is new, or gone, whatever the machine does.
    is_new = len(threads) == 1 or not all(thread.places for thread in threads)
    return [replace(line, change=line.size) for line in found] if is_new else found


def _waits(threads: Sequence[_Thread], places: Sequence[Sequence[Place]], works: bool) -> Line:
    """Where a thread waits; its CPU stands there unless it was seen where it ``works``."""
    costs, wakeups, cpu = [], [], []
    for thread, of_one in zip(threads, places, strict=True):
        whole, own, seen = total(thread.places), total(of_one), thread.seen_at(of_one)
        part = float(bool(of_one))
        if whole.wakeups_per_s:
            part = own.wakeups_per_s / whole.wakeups_per_s
        cpu_share = 0.0 if works and thread.working else whole.cpu_share * part
        costs.append(Cost(own.wakeups_per_s, cpu_share))
        wakeups.append(_scaled(whole.wakeups_per_s, thread.wakeups, seen))
        cpu.append(_scaled(whole.cpu_share, thread.cpu, seen))
    shown = next(of_one[-1] for of_one in reversed(places) if of_one)
    calls = (call for of_one in places for one in of_one for call in _calls(one))
    return Line(
        process=shown.process,
        thread=shown.thread,
        waits=True,
        frames=_told(_own(shown)),
        calls=tuple(dict.fromkeys(calls)),
        costs=tuple(costs),
        change=max(_between(wakeups) * _PRICE_S, 0.0 if works else _between(cpu)),
    )


def _works(threads: Sequence[_Thread]) -> Line:
    """Where a thread works, by the revision whose work there costs most.

    Where one revision was not seen at work, the CPU that it used may be anywhere: all is compared.
    """
    whole = [total(thread.places).cpu_share for thread in threads]
    named = next(thread for thread in reversed(threads) if thread.places).places[-1]
    most = max((thread.working for thread in threads), key=lambda one: total(one).cpu_share)
    return Line(
        process=named.process,
        thread=named.thread,
        waits=False,
        frames=_told(_innermost(most)),
        calls=(),
        costs=tuple(
            Cost(0.0, cpu if thread.working else 0.0)
            for thread, cpu in zip(threads, whole, strict=True)
        ),
        change=_between(
            [_scaled(cpu, thread.cpu) for thread, cpu in zip(threads, whole, strict=True)]
        ),
    )


def _scaled(figure: float, *shares: Range) -> Range:
    """Within what a figure is known that is known within some shares."""
    least, most = zip(*shares, strict=True)
    return figure * math.prod(least), figure * math.prod(most)


def _between(ranges: Sequence[Range]) -> float:
    """What lies between the first and the last of some ranges."""
    one, other = ranges[0], ranges[-1]
    return max(0.0, one[0] - other[1], other[0] - one[1])


def _innermost(working: Sequence[Place]) -> list[Frame]:
    """The functions down to the innermost one that has much of the work."""
    least, depth = total(working).cpu_share * _MUCH_OF_WORK, 0
    while True:
        shares: dict[tuple[str, str], list[Place]] = {}
        for place in working:
            for name in _names(_own(place))[depth : depth + 1]:
                shares.setdefault(name, []).append(place)
        most = max(shares.values(), key=lambda one: total(one).cpu_share, default=[])
        if not most or total(most).cpu_share < least:
            return _own(working[0])[:depth]
        depth, working = depth + 1, most


def _own(place: Place) -> list[Frame]:
    """Its functions, the outermost first."""
    return [frame for frame in place.stack if frame.kind != KERNEL]


def _calls(place: Place) -> tuple[str, ...]:
    return tuple(frame.name for frame in place.stack if frame.kind == KERNEL)


def _names(frames: Iterable[Frame]) -> _Key:
    return tuple((frame.name, frame.file) for frame in frames)


def _key(place: Place) -> _Key:
    return _names(_told(_own(place))) or tuple(("", call) for call in _calls(place))


def _innermost_name(key: _Key) -> str:
    """That of the innermost function; empty where none is known."""
    return key[-1][0] if key else ""


_STARTS = {
    "runpy.py": None, "<frozen runpy>": None,
    "threading.py": ("_bootstrap", "_bootstrap_inner", "run"),
}  # fmt: skip
"""Files of Python whose functions only begin others; ``None`` for all of them."""
_RUST = re.compile(
    r"^(std|core|alloc|pyo3|tokio::runtime::(context|scheduler|coop|task)|parking_lot(_core)?"
    r"|crossbeam\w*|futures_(util|core)|backtrace|hashbrown|tracing(_core)?)::|^(__)?rust_|^_?Py[A-Z_]|FnOnce"
)


def _told(stack: Sequence[Frame]) -> tuple[Frame, ...]:
    """The functions that tell a place from others: of a deep stack those of either end."""
    own = [frame for frame in stack if not _is_plumbing(frame)] or list(stack)
    return tuple(own if len(own) <= _SHOWN else [*own[:_ENDS], *own[-_ENDS:]])


def _is_plumbing(frame: Frame) -> bool:
    if frame.kind == PYTHON:
        end = frame.file.rpartition("/")[2]
        names = _STARTS.get(end, ())
        return names is None or frame.name.rpartition(".")[2] in names
    return bool(_RUST.match(frame.name))

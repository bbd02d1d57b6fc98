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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from waitbench.analysis.distributions import rate_interval, t_quantile
from waitbench.model.why import KERNEL, PYTHON, Counted, Frame, Place, Why

_MUCH_OF_WORK = 0.4
"""A line of work is the innermost function that has so much of it."""
_WAITS_ONLY_S = 0.002
"""CPU between two wake-ups up to which who wakes up only looks whether there is anything to do."""
_VARIES = 0.1
"""By such a share of itself a figure may be off in a run, besides all that is known."""
_CONFIDENCE = 0.95
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

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.wakeups_per_s + other.wakeups_per_s, self.cpu_share + other.cpu_share)

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
        threads[0] = _renamed(threads[0], threads[1])
    names = dict.fromkeys(who for of_one in reversed(threads) for who in of_one)
    of_each = ([of_one.get(who, _ABSENT) for of_one in threads] for who in names)
    found = [line for thread in of_each for line in _lines_of(thread)]
    return sorted(found, key=lambda line: (-line.change, -line.size))


def cost_of(place: Place) -> Cost:
    """What a place costs."""
    return Cost(place.wakeups_per_s, place.cpu_share)


_NUMBERED = re.compile(r"^(Thread|Dummy|ThreadPoolExecutor|asyncio)-\d+(?:_\d+)?")


def unnumbered(thread: str) -> str:
    """A thread's name without the number that says how many were made before it."""
    return _NUMBERED.sub(r"\1", thread)


_Who = tuple[str, str]
"""A process and a thread, unnumbered."""
_Key = tuple[object, ...]
"""What tells one place of a thread from its others."""


@dataclass(frozen=True, kw_only=True)
class _Thread:
    """All that a revision has of threads with one name."""

    places: tuple[Place, ...]
    wakeups: Range
    """Within what the mean of all wake-ups is known, as shares of it."""
    cpu: Range

    @property
    def waiting(self) -> list[Place]:
        return [place for place in self.places if place.waits]

    @property
    def working(self) -> list[Place]:
        return [place for place in self.places if not place.waits]

    @property
    def cost(self) -> Cost:
        return sum(map(cost_of, self.places), Cost())

    @property
    def works_elsewhere(self) -> bool:
        """Whether it does more than to look whether there is anything to do."""
        if not self.working:
            return False
        path = list(map(_name, _innermost(self.working)))
        around = any(list(map(_name, _own(one)))[: len(path)] == path for one in self.waiting)
        is_much = _cpu(self.working) > _WAITS_ONLY_S * self.cost.wakeups_per_s
        return is_much or not around

    @property
    def by_key(self) -> dict[_Key, list[Place]]:
        """Where it waits."""
        found: dict[_Key, list[Place]] = {}
        for place in self.waiting:
            functions = tuple((frame.name, frame.file) for frame in _told(_own(place)))
            # Where nothing is known of a stack, the system call is what there is.
            found.setdefault(functions or _calls(place), []).append(place)
        return found

    @property
    def ends(self) -> set[_Key]:
        """The outermost and the innermost function of each place, or the system calls."""
        found: set[_Key] = set()
        for place in self.places:
            names = [frame.name for frame in _told(_own(place))]
            found.add((bool(names), place.waits, *(names[:1] + names[-1:] or _calls(place))))
        return found

    def within(self, places: Sequence[Place]) -> tuple[Range, Range]:
        """Within what the wake-ups and the CPU are known that are of some places where it waits."""
        looks = sum(place.looks for place in self.waiting)
        seen = sum(place.looks for place in places)
        least, most = rate_interval(seen, looks, _CONFIDENCE) if looks else (0.0, 1.0)
        wakeups, cpu = self.cost.wakeups_per_s, self.cost.cpu_share
        return (
            (wakeups * self.wakeups[0] * least, wakeups * self.wakeups[1] * most),
            (cpu * self.cpu[0] * least, cpu * self.cpu[1] * most),
        )


_ABSENT = _Thread(places=(), wakeups=(0.0, 0.0), cpu=(0.0, 0.0))
"""What a revision has of a thread that only the other one has."""


def _threads(why: Why) -> dict[_Who, _Thread]:
    places: dict[_Who, list[Place]] = {}
    counted: dict[_Who, list[Counted]] = {}
    for place in why.places:
        places.setdefault((place.process, unnumbered(place.thread)), []).append(place)
    for one in why.threads:
        counted.setdefault((one.process, unnumbered(one.thread)), []).append(one)
    return {who: _thread(found, counted.get(who, [])) for who, found in places.items()}


def _thread(places: Sequence[Place], counted: Sequence[Counted]) -> _Thread:
    delayed = max((one.delayed for one in counted), default=0.0)
    return _Thread(
        places=tuple(places),
        wakeups=_range([one.wakeups_per_s for one in counted], delayed),
        cpu=_range([one.cpu_share for one in counted], delayed),
    )


def _range(of_threads: Sequence[Sequence[float]], delayed: float) -> Range:
    """Within what a mean is known, as shares of it: by how it varied, and was held up."""
    parts = [math.fsum(of_one) for of_one in zip(*of_threads, strict=True)]
    mean = math.fsum(parts) / len(parts) if parts else 0.0
    wide = 0.0
    if len(parts) > 1 and mean > 0:
        squares = math.fsum((one - mean) ** 2 for one in parts) / (len(parts) - 1)
        share = 1 - (1 - _CONFIDENCE) / 2
        wide = math.sqrt(squares / len(parts)) / mean * t_quantile(share, len(parts) - 1)
    # Who sleeps for so long after each piece of work does so less often when it is held up.
    held_up = 1 / max(1 - delayed, _LEAST_FREE)
    return max(0.0, 1 - wide) * (1 - _VARIES), (held_up + wide) / (1 - _VARIES)


def _renamed(before: dict[_Who, _Thread], after: dict[_Who, _Thread]) -> dict[_Who, _Thread]:
    """The threads of a baseline by the names that they have in the candidate.

    A thread that only one of them has is the same as one that only the other has if it waits or
    works in the same function: programs, and threads named after them, are called as one likes.
    """
    left = [who for who in after if who not in before]
    found = {}
    for who, thread in before.items():
        # Where only system calls are known, one of the two names must be the same.
        fits = [
            (one[0] == who[0], one[1] == who[1], one)
            for one in left
            if who not in after
            and any(named or who[0] == one[0] for named, *_ in thread.ends & after[one].ends)
        ]
        *_, name = max(fits, default=(who,))
        left = [one for one in left if one != name]
        found[name] = thread
    return found


def _lines_of(threads: Sequence[_Thread]) -> list[Line]:
    """The lines of one thread, of each revision."""
    works = any(thread.works_elsewhere for thread in threads)
    places = [thread.by_key for thread in threads]
    if len(places) > 1:
        places[0] = _moved(places[0], places[1])
    keys = dict.fromkeys(key for of_one in reversed(places) for key in of_one)
    found = [_waits(threads, [of_one.get(key, []) for of_one in places], works) for key in keys]
    return [*found, _works(threads)] if works else found


def _moved(
    before: dict[_Key, list[Place]], after: dict[_Key, list[Place]]
) -> dict[_Key, list[Place]]:
    """The places of a baseline, as those of the candidate where these have other callers.

    Of the places that only one of both has, those with one innermost function are the same: what
    called it was renamed, or moved.
    """
    left = {key: places for key, places in after.items() if key not in before}
    found = {}
    for key, places in sorted(before.items(), key=lambda one: -_wakeups(one[1])):
        innermost = _innermost_name(places)
        fits = [
            one
            for one in left
            if key not in after and innermost and _innermost_name(left[one]) == innermost
        ]
        same = max(fits, key=lambda one: _wakeups(left[one]), default=key)
        left.pop(same, None)
        found[same] = places
    return found


def _waits(threads: Sequence[_Thread], places: Sequence[Sequence[Place]], works: bool) -> Line:
    """Where a thread waits; its CPU stands there unless it was seen where it ``works``."""
    costs = []
    for thread, of_one in zip(threads, places, strict=True):
        whole, wakeups = thread.cost, _wakeups(of_one)
        part = wakeups / whole.wakeups_per_s if whole.wakeups_per_s else float(bool(of_one))
        costs.append(Cost(wakeups, 0.0 if works and thread.working else whole.cpu_share * part))
    ranges = [thread.within(of_one) for thread, of_one in zip(threads, places, strict=True)]
    change = _between([wakeups for wakeups, _ in ranges]) * _PRICE_S
    if not works:
        change = max(change, _between([cpu for _, cpu in ranges]))
    shown = next(of_one[-1] for of_one in reversed(places) if of_one)
    return Line(
        process=shown.process,
        thread=shown.thread,
        waits=True,
        frames=_told(_own(shown)),
        calls=tuple(
            dict.fromkeys(call for of_one in places for one in of_one for call in _calls(one))
        ),
        costs=tuple(costs),
        change=max(cost.price for cost in costs) if _is_new(threads) else change,
    )


def _works(threads: Sequence[_Thread]) -> Line:
    """Where a thread works, by the revision whose work there costs most.

    Where one revision was not seen at work, the CPU that it used may be anywhere: all is compared.
    """
    whole = [thread.cost.cpu_share for thread in threads]
    costs = tuple(
        Cost(0.0, cpu if thread.working else 0.0)
        for thread, cpu in zip(threads, whole, strict=True)
    )
    ranges = [
        (cpu * thread.cpu[0], cpu * thread.cpu[1])
        for thread, cpu in zip(threads, whole, strict=True)
    ]
    named = next(thread for thread in reversed(threads) if thread.places).places[-1]
    return Line(
        process=named.process,
        thread=named.thread,
        waits=False,
        frames=_told(_innermost(max((thread.working for thread in threads), key=_cpu))),
        calls=(),
        costs=costs,
        change=max(cost.price for cost in costs) if _is_new(threads) else _between(ranges),
    )


def _is_new(threads: Sequence[_Thread]) -> bool:
    """Whether only one revision has a thread, or there is only one revision."""
    return len(threads) == 1 or not all(thread.places for thread in threads)


def _between(ranges: Sequence[Range]) -> float:
    """What lies between the first and the last of some ranges."""
    one, other = ranges[0], ranges[-1]
    return max(0.0, one[0] - other[1], other[0] - one[1])


def _innermost(working: Sequence[Place]) -> list[Frame]:
    """The functions down to the innermost one that has much of the work."""
    least, depth = _cpu(working) * _MUCH_OF_WORK, 0
    while True:
        shares: dict[str, list[Place]] = {}
        for place in working:
            if len(_own(place)) > depth:
                shares.setdefault(_name(_own(place)[depth]), []).append(place)
        most = max(shares.values(), key=_cpu, default=[])
        if not most or _cpu(most) < least:
            return _own(working[0])[:depth]
        depth, working = depth + 1, most


def _cpu(places: Iterable[Place]) -> float:
    return sum(place.cpu_share for place in places)


def _wakeups(places: Iterable[Place]) -> float:
    return sum(place.wakeups_per_s for place in places)


def _own(place: Place) -> list[Frame]:
    """Its functions, the outermost first."""
    return [frame for frame in place.stack if frame.kind != KERNEL]


def _calls(place: Place) -> tuple[str, ...]:
    return tuple(frame.name for frame in place.stack if frame.kind == KERNEL)


def _name(frame: Frame) -> str:
    return f"{frame.name} {frame.file}"


def _innermost_name(places: Sequence[Place]) -> str:
    return next((frame.name for frame in reversed(_told(_own(places[0])))), "")


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

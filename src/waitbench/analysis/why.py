"""Where two revisions wait and work -> lines, sorted by what changed.

What comes first is what certainly changed by most, not what changed by most. Each figure of a line
is known within a range: of its thread, how often it wakes up varies while it is counted, and it
would be more often if the thread had never had to wait for a CPU that others used; of the line, its
share of the thread is known by a few looks. What lies between the ranges of two revisions is
certain. A thread that only one of them has needs none of that: it is new, or gone, whatever the
machine does.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from msgspec import structs

from waitbench.analysis.distributions import rate_interval, t_quantile
from waitbench.model.why import KERNEL, PYTHON, Counted, Frame, Place, Why

_MOST_OF_WORK = 2 / 3
"""A line of work is the innermost function that has so much of it."""
_MUCH_OF_WORK = 0.4
"""Functions within it are shown as long as one has so much."""
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
        return max(map(_price, self.costs))


def lines(several: Sequence[Why]) -> list[Line]:
    """Those of a revision, or of two: what changed most first, then what costs most."""
    if len(several) > 1:
        several = [_renamed(several[0], several[1]), *several[1:]]
    groups = [list(_groups(why)) for why in several]
    apart = {_who(group[0]) for of_one in groups for group in of_one if _works_elsewhere(group)}
    made = _alike(
        [
            [part for group in of_one for part in _joined(group, apart=_who(group[0]) in apart)]
            for of_one in groups
        ]
    )
    if len(made) > 1:
        made[0] = _matched(made[0], made[1])
    parts = (part for of_one in reversed(made) for part in of_one)
    keys = dict.fromkeys(part.key for part in parts)
    threads = [_threads(why) for why in several]
    found = []
    for key in keys:
        of_each = [[one for one in of_one if one.key == key] for of_one in made]
        shown = next(one for of_one in reversed(of_each) for one in of_one)
        calls = dict.fromkeys(call for of_one in of_each for one in of_one for call in one.calls)
        costs = tuple(sum((one.cost for one in of_one), Cost()) for of_one in of_each)
        found.append(
            Line(
                process=shown.process,
                thread=shown.thread,
                waits=shown.waits,
                frames=shown.frames,
                calls=tuple(calls),
                costs=costs,
                change=_change(
                    costs,
                    of_each,
                    [of_one.get(shown.who) for of_one in threads],
                    waits=shown.waits,
                ),
            )
        )
    return sorted(found, key=lambda line: (-line.change, -line.size))


@dataclass(frozen=True)
class _Thread:
    """Within what it is known what a thread does, and how often it was looked at."""

    wakeups_per_s: Range
    """As shares of the mean."""
    cpu_share: Range
    cost: Cost
    asleep: int
    at_work: int


def _change(
    costs: Sequence[Cost],
    of_each: Sequence[Sequence["_Part"]],
    threads: Sequence[_Thread | None],
    *,
    waits: bool,
) -> float:
    """By how much a line of two revisions certainly differs between them."""
    before, *others = threads
    if not others or before is None or others[0] is None:
        return max(map(_price, costs))
    after = others[0]
    wakeups = [
        _within(one.wakeups_per_s, cost.wakeups_per_s, one.cost.wakeups_per_s, parts, one, waits)
        for one, cost, parts in zip((before, after), costs, of_each, strict=True)
    ]
    cpu = [
        _within(one.cpu_share, cost.cpu_share, one.cost.cpu_share, parts, one, waits)
        for one, cost, parts in zip((before, after), costs, of_each, strict=True)
    ]
    if waits and not (before.at_work and after.at_work):
        # Where it works was seen in one revision only, which may be elsewhere than where it waits.
        cpu = [
            (least if one.at_work or not other.at_work else 0.0, most)
            for one, other, (least, most) in zip((before, after), (after, before), cpu, strict=True)
        ]
    return max(_between(*wakeups) * _PRICE_S, _between(*cpu))


def _price(cost: Cost) -> float:
    return max(cost.cpu_share, cost.wakeups_per_s * _PRICE_S)


def _between(one: Range, other: Range) -> float:
    """What lies between two ranges."""
    return max(0.0, one[0] - other[1], other[0] - one[1])


def _within(
    known: Range, cost: float, whole: float, parts: Sequence["_Part"], thread: _Thread, waits: bool
) -> Range:
    """Within what a line's cost is known, of a thread that costs ``whole``."""
    looks = thread.asleep if waits else thread.at_work
    seen = sum(part.looks for part in parts)
    least, most = rate_interval(seen, looks, _CONFIDENCE) if looks else (0.0, 1.0)
    if not parts:
        return 0.0, whole * known[1] * most
    if not seen:
        return 0.0, max(cost, whole) * known[1]
    return cost * known[0] * least * looks / seen, cost * known[1] * most * looks / seen


def _threads(why: Why) -> dict[tuple[str, str], _Thread]:
    """The threads of a revision, those of one name in one."""
    groups: dict[tuple[str, str], tuple[list[Place], list[Counted]]] = {}
    for place in why.places:
        who = place.process, unnumbered(place.thread)
        groups.setdefault(who, ([], []))[0].append(place)
    for one in why.threads:
        who = one.process, unnumbered(one.thread)
        if who in groups:
            groups[who][1].append(one)
    return {who: _thread(places, counted) for who, (places, counted) in groups.items()}


def _thread(places: Sequence[Place], counted: Sequence[Counted]) -> _Thread:
    delayed = max((one.delayed for one in counted), default=0.0)
    return _Thread(
        wakeups_per_s=_range([one.wakeups_per_s for one in counted], delayed),
        cpu_share=_range([one.cpu_share for one in counted], delayed),
        cost=sum(map(cost_of, places), Cost()),
        asleep=sum(one.looks for one in places if one.waits),
        at_work=sum(one.looks for one in places if not one.waits),
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


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A line of one revision."""

    process: str
    thread: str
    waits: bool
    functions: tuple[Frame, ...]
    """All of them, the outermost first."""
    calls: tuple[str, ...]
    cost: Cost
    looks: int
    """How often it was seen there."""
    within: tuple[Frame, ...] = ()
    """Functions that have much of its work, below the others; they do not tell it from others."""
    matched: tuple[object, ...] = ()
    """The key of the same place in another revision, where its callers are others there."""

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The functions to be shown."""
        return _told(self.functions + self.within)

    @property
    def path(self) -> tuple[str, ...]:
        """What tells its functions from others."""
        return _path(self.functions)

    @property
    def whole_path(self) -> tuple[str, ...]:
        """The same of all that are shown."""
        return _path(self.functions + self.within)

    @property
    def innermost(self) -> str:
        """The name of its innermost function of its own; empty where none is known."""
        return next((frame.name for frame in reversed(_told(self.functions))), "")

    @property
    def who(self) -> tuple[str, str]:
        """Its process and its thread."""
        return self.process, unnumbered(self.thread)

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others."""
        if self.matched:
            return self.matched
        functions = tuple((frame.name, frame.file) for frame in _told(self.functions))
        # Where nothing is known of a stack, the system call is what there is.
        return *self.who, self.waits, functions or self.calls


_NUMBERED = re.compile(r"^(Thread|Dummy|ThreadPoolExecutor|asyncio)-\d+(?:_\d+)?")


def unnumbered(thread: str) -> str:
    """A thread's name without the number that says how many were made before it."""
    return _NUMBERED.sub(r"\1", thread)


_Named = TypeVar("_Named", Place, Counted)


def _who(place: Place | Counted) -> tuple[str, str]:
    return place.process, unnumbered(place.thread)


def _renamed(why: Why, other: Why) -> Why:
    """A revision's places with the names that processes and threads have in another one.

    A thread that only one of them has is the same as one that only the other has if it waits or
    works in the same function: programs, and threads named after them, are called as one likes.
    """
    mine, others = _ends(why), _ends(other)
    alone = [who for who in mine if who not in others]
    left = [who for who in others if who not in mine]
    names: dict[tuple[str, str], tuple[str, str]] = {}
    for who in alone:
        # Where only system calls are known, one of the two names must be the same.
        fits = [
            one
            for one in left
            if any(named or who[0] == one[0] for named, *_ in mine[who] & others[one])
        ]
        if fits:
            names[who] = max(fits, key=lambda one: (one[0] == who[0], one[1] == who[1]))
            left.remove(names[who])

    def renamed(one: _Named) -> _Named:
        process, thread = names.get(_who(one), (one.process, one.thread))
        return structs.replace(one, process=process, thread=thread)

    return structs.replace(
        why,
        places=tuple(map(renamed, why.places)),
        threads=tuple(map(renamed, why.threads)),
    )


def _ends(why: Why) -> dict[tuple[str, str], set[tuple[object, ...]]]:
    """The outermost and the innermost functions of each thread's places, or the system calls."""
    found: dict[tuple[str, str], set[tuple[object, ...]]] = {}
    for place in sorted(why.places, key=lambda place: -_price(cost_of(place))):
        part = _part(place)
        names = [frame.name for frame in part.frames]
        end = (bool(names), place.waits, *(names[:1] + names[-1:] or part.calls))
        found.setdefault(part.who, set()).add(end)
    return found


def _matched(before: Sequence[_Part], after: Sequence[_Part]) -> list[_Part]:
    """The lines of a baseline, as the same places of the candidate where these have other callers.

    Of the places of a thread that only one of both has, those with one innermost function are the
    same: what called it was renamed, or moved.
    """
    known = {part.key for part in before}
    left = {part.key: part for part in after if part.key not in known}
    matches = {part.key: part.key for part in after}
    for part in sorted(before, key=lambda part: -_price(part.cost)):
        fits = [
            one
            for one in left.values()
            if part.innermost
            and (one.who, one.waits, one.innermost) == (part.who, part.waits, part.innermost)
        ]
        if part.key not in matches and fits:
            matches[part.key] = max(fits, key=lambda one: _price(one.cost)).key
            del left[matches[part.key]]
    return [replace(part, matched=matches.get(part.key, ())) for part in before]


def _groups(why: Why) -> Iterator[list[Place]]:
    """The places of each thread."""
    threads: dict[tuple[str, str], list[Place]] = {}
    for place in why.places:
        threads.setdefault((place.process, place.thread), []).append(place)
    yield from threads.values()


def _works_elsewhere(places: Sequence[Place]) -> bool:
    """Whether a thread does more than to look whether there is anything to do."""
    working = [place for place in places if not place.waits]
    if not working:
        return False
    wakeups = sum(place.wakeups_per_s for place in places)
    return _cpu(working) > _WAITS_ONLY_S * wakeups or not _around(places, _common(working))


def _around(places: Iterable[Place], works: "_Part") -> list["_Part"]:
    """Where a thread waits within the functions in which it works."""
    path = works.whole_path
    waiting = (_part(place) for place in places if place.waits)
    return [part for part in waiting if part.path[: len(path)] == path]


def _joined(places: Sequence[Place], *, apart: bool) -> list[_Part]:
    """The lines of one thread. Who only looks whether there is anything to do has one for both."""
    waiting = [_part(place) for place in places if place.waits]
    working = [place for place in places if not place.waits]
    if not working:
        return waiting
    works = _common(working)
    if apart:
        return [*waiting, works]
    around = _around(places, works)
    wakeups = sum(part.cost.wakeups_per_s for part in around)
    return [_with_share(part, works.cost, wakeups) if part in around else part for part in waiting]


def _with_share(part: _Part, whole: Cost, wakeups: float) -> _Part:
    share = whole.cpu_share * (part.cost.wakeups_per_s / wakeups if wakeups else 0.0)
    return replace(part, cost=part.cost + Cost(cpu_share=share))


def _alike(several: Sequence[Sequence[_Part]]) -> list[list[_Part]]:
    """With one place for who works within one function in all revisions, the outermost.

    How deep the function is that has most of the work varies with the looks.
    """
    works = [part for of_one in several for part in of_one if not part.waits]

    def shared(part: _Part) -> _Part:
        within = (
            one for one in works
            if one.who == part.who and one.path and one.path == part.path[: len(one.path)]
        )  # fmt: skip
        depth = min((len(one.path) for one in within), default=len(part.path))
        whole = part.functions + part.within
        alike = (
            _shared(part.whole_path, one.whole_path)
            for one in works if one.who == part.who and one.whole_path[:depth] == part.path[:depth]
        )  # fmt: skip
        return replace(part, functions=whole[:depth], within=whole[depth : min(alike)])

    return [[part if part.waits else shared(part) for part in of_one] for of_one in several]


def _shared(path: Sequence[str], other: Sequence[str]) -> int:
    """How many functions two paths have in common from the outermost on."""
    pairs = enumerate(zip(path, other, strict=False))
    return next((n for n, (one, two) in pairs if one != two), min(len(path), len(other)))


def _part(place: Place) -> _Part:
    return _Part(
        process=place.process,
        thread=place.thread,
        waits=place.waits,
        functions=tuple(frame for frame in place.stack if frame.kind != KERNEL),
        calls=tuple(frame.name for frame in place.stack if frame.kind == KERNEL),
        cost=cost_of(place),
        looks=place.looks,
    )


def _common(working: Sequence[Place]) -> _Part:
    """Where a thread works: the innermost function that has most of it."""
    whole = _cpu(working)
    depth, inside = _innermost(working, whole * _MOST_OF_WORK)
    deepest, seen_most = _innermost(working, whole * _MUCH_OF_WORK)
    first = seen_most[0]
    stack = tuple(frame for frame in first.stack if frame.kind != KERNEL)
    return _Part(
        process=first.process,
        thread=first.thread,
        waits=False,
        functions=stack[:depth],
        within=stack[depth:deepest],
        calls=(),
        cost=Cost(cpu_share=whole),
        looks=sum(place.looks for place in inside),
    )


def _innermost(working: Sequence[Place], least: float) -> tuple[int, Sequence[Place]]:
    """How deep the innermost function is that has so much of the work, and what is within it."""
    depth, inside = 0, working
    while True:
        shares: dict[str, list[Place]] = {}
        for place in inside:
            if len(_path(place.stack)) > depth:
                shares.setdefault(_path(place.stack)[depth], []).append(place)
        most = max(shares.values(), key=_cpu, default=[])
        if not most or _cpu(most) < least:
            return depth, inside
        depth, inside = depth + 1, most


def _cpu(places: Iterable[Place]) -> float:
    return sum(place.cpu_share for place in places)


def cost_of(place: Place) -> Cost:
    """What a place costs."""
    return Cost(place.wakeups_per_s, place.cpu_share)


def _path(stack: Sequence[Frame]) -> tuple[str, ...]:
    return tuple(f"{frame.name} {frame.file}" for frame in stack if frame.kind != KERNEL)


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
    own = [frame for frame in stack if frame.kind != KERNEL and not _is_plumbing(frame)]
    own = own or [frame for frame in stack if frame.kind != KERNEL]
    return tuple(own if len(own) <= _SHOWN else [*own[:_ENDS], *own[-_ENDS:]])


def _is_plumbing(frame: Frame) -> bool:
    if frame.kind == PYTHON:
        end = frame.file.rpartition("/")[2]
        names = _STARTS.get(end, ())
        return names is None or frame.name.rpartition(".")[2] in names
    return bool(_RUST.match(frame.name))

"""Where two revisions wait and work -> lines, sorted by what changed, and a tree of all stacks."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from waitbench.model.why import KERNEL, NATIVE, PYTHON, Frame, Place, Why

_MOST_OF_WORK = 0.8
"""Where somebody works is the innermost function that has so much of it."""
_WAITS_ONLY_S = 0.002
"""CPU between two wake-ups up to which who wakes up only looks whether there is anything to do."""
_VARIES = 0.25
"""By such a share two runs of the same revision may differ where others use the machine."""
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

    @property
    def change(self) -> float:
        """By how much it costs more or less than chance explains, in CPU seconds a second."""
        if len(self.costs) < 2:
            return self.size
        before, after = self.costs
        return max(
            _beyond(before.cpu_share, after.cpu_share),
            _beyond(before.wakeups_per_s, after.wakeups_per_s) * _PRICE_S,
        )

    @property
    def size(self) -> float:
        """What it costs the revision that it costs most, likewise."""
        return max(max(one.cpu_share, one.wakeups_per_s * _PRICE_S) for one in self.costs)


def _beyond(before: float, after: float) -> float:
    return max(0.0, abs(after - before) - _VARIES * max(before, after))


def lines(several: Sequence[Why]) -> list[Line]:
    """Those of a revision, or of two: what changed most first, then what costs most."""
    made = [list(map(_joined, _groups(why))) for why in several]
    parts = (part for of_one in reversed(made) for group in of_one for part in group)
    keys = dict.fromkeys(part.key for part in parts)
    found = []
    for key in keys:
        of_each = [[one for group in of_one for one in group if one.key == key] for of_one in made]
        shown = next(one for of_one in reversed(of_each) for one in of_one)
        calls = dict.fromkeys(call for of_one in of_each for one in of_one for call in one.calls)
        found.append(
            Line(
                process=shown.process,
                thread=shown.thread,
                waits=shown.waits,
                frames=shown.frames,
                calls=tuple(calls),
                costs=tuple(sum((one.cost for one in of_one), Cost()) for of_one in of_each),
            )
        )
    return sorted(found, key=lambda line: (-line.change, -line.size))


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A line of one revision."""

    process: str
    thread: str
    waits: bool
    frames: tuple[Frame, ...]
    path: tuple[str, ...]
    """All functions, the outermost first."""
    calls: tuple[str, ...]
    cost: Cost

    @property
    def key(self) -> tuple[object, ...]:
        functions = tuple((frame.name, frame.file) for frame in self.frames)
        # Where nothing is known of a stack, the system call is what there is.
        return (
            self.process, _unnumbered(self.thread), self.waits, functions or self.calls,
        )  # fmt: skip


_NUMBERED = re.compile(r"^(Thread|Dummy|ThreadPoolExecutor|asyncio)-\d+(?:_\d+)?")


def _unnumbered(thread: str) -> str:
    """A thread's name without the number that says how many were made before it."""
    return _NUMBERED.sub(r"\1", thread)


def _groups(why: Why) -> Iterator[list[Place]]:
    """The places of each thread."""
    threads: dict[tuple[str, str], list[Place]] = {}
    for place in why.places:
        threads.setdefault((place.process, place.thread), []).append(place)
    yield from threads.values()


def _joined(places: Sequence[Place]) -> list[_Part]:
    """The lines of one thread. Who only looks whether there is anything to do has one for both."""
    waiting = [_part(place) for place in places if place.waits]
    working = [place for place in places if not place.waits]
    if not working:
        return waiting
    whole = sum((_cost(place) for place in working), Cost())
    works = _common(working)
    wakeups = sum(part.cost.wakeups_per_s for part in waiting)
    only_waits = whole.cpu_share <= _WAITS_ONLY_S * wakeups
    around = [part for part in waiting if part.path[: len(works.path)] == works.path]
    if only_waits and around:
        return [
            _with_share(part, whole, wakeups=sum(one.cost.wakeups_per_s for one in around))
            if part in around
            else part
            for part in waiting
        ]
    return [*waiting, works]


def _with_share(part: _Part, whole: Cost, wakeups: float) -> _Part:
    share = whole.cpu_share * (part.cost.wakeups_per_s / wakeups if wakeups else 0.0)
    return _Part(
        process=part.process,
        thread=part.thread,
        waits=part.waits,
        frames=part.frames,
        path=part.path,
        calls=part.calls,
        cost=part.cost + Cost(cpu_share=share),
    )


def _part(place: Place) -> _Part:
    return _Part(
        process=place.process,
        thread=place.thread,
        waits=place.waits,
        frames=_told(place.stack),
        path=_path(place.stack),
        calls=tuple(frame.name for frame in place.stack if frame.kind == KERNEL),
        cost=_cost(place),
    )


def _common(working: Sequence[Place]) -> _Part:
    """Where a thread works: the innermost function that has most of it."""
    whole = sum(place.cpu_share for place in working)
    depth = 0
    inside = list(working)
    while True:
        shares: dict[str, list[Place]] = {}
        for place in inside:
            if len(_path(place.stack)) > depth:
                shares.setdefault(_path(place.stack)[depth], []).append(place)
        most = max(shares.values(), key=_cpu, default=[])
        if not most or _cpu(most) < whole * _MOST_OF_WORK:
            break
        inside, depth = most, depth + 1
    first = inside[0]
    stack = tuple(frame for frame in first.stack if frame.kind != KERNEL)[:depth]
    return _Part(
        process=first.process,
        thread=first.thread,
        waits=False,
        frames=_told(stack),
        path=_path(stack),
        calls=(),
        cost=Cost(cpu_share=whole),
    )


def _cpu(places: Iterable[Place]) -> float:
    return sum(place.cpu_share for place in places)


def _cost(place: Place) -> Cost:
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


def is_cut(line: Line) -> bool:
    """Whether functions between the ends are left out of a line."""
    return len(line.frames) == 2 * _ENDS


def _is_plumbing(frame: Frame) -> bool:
    if frame.kind == PYTHON:
        end = frame.file.rpartition("/")[2]
        names = _STARTS.get(end, ())
        return names is None or frame.name.rpartition(".")[2] in names
    return bool(_RUST.match(frame.name))


@dataclass
class Node:
    """One function within its callers, and what it costs each revision with all below it."""

    name: str
    kind: str = NATIVE
    costs: list[Cost] = field(default_factory=list)
    below: dict[str, "Node"] = field(default_factory=dict)

    def add(self, number: int, cost: Cost) -> None:
        """Adds what one revision spends there."""
        self.costs[number] = self.costs[number] + cost


def tree(several: Sequence[Why]) -> Node:
    """All stacks of a revision, or of two: processes, their threads, and their functions."""
    root = Node("all", costs=[Cost()] * len(several))
    for number, why in enumerate(several):
        for place in why.places:
            node = root
            node.add(number, _cost(place))
            for name, kind in _steps(place):
                node = node.below.setdefault(name, Node(name, kind, [Cost()] * len(several)))
                node.add(number, _cost(place))
    return root


def folded(why: Why) -> dict[str, dict[str, float]]:
    """Its stacks as flame graphs take them, ``outer;…;inner``: wake-ups and CPU by stack."""
    found: dict[str, dict[str, float]] = {"wakeups": {}, "cpu": {}}
    for place in why.places:
        steps = (name.replace(";", ",") for name, _ in _steps(place))
        stack = ";".join(steps)
        for name, amount in (("wakeups", place.wakeups_per_s), ("cpu", place.cpu_share)):
            if amount:
                found[name][stack] = found[name].get(stack, 0.0) + amount
    return found


THREAD = "thread"


def _steps(place: Place) -> Iterator[tuple[str, str]]:
    """What stands on a stack, the outermost first, and of which kind it is."""
    yield place.process, THREAD
    yield _unnumbered(place.thread), THREAD
    for frame in place.stack:
        yield (f"{frame.name} ({frame.file})" if frame.file else frame.name), frame.kind

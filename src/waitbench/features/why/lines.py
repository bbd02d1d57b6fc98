"""Threads of one or two revisions -> lines, ordered by the threads' certain changes.

The wake-ups and the CPU of a thread are known within ranges: both vary while they are counted, and
would be higher if the thread had never waited for a CPU. The gap between the ranges of two
revisions is certain. So is a thread of only one revision: it is new, or gone.

CPU is counted per thread. It is attributed to the places of work, if the thread was seen at work,
or else to those of waiting.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from statistics import fmean

from waitbench.features.why.samples import KERNEL, WAKEUP_COST_S, Frame, Stack, Thread, Why

_MUCH_OF_WORK = 0.4
"""A line of work ends in the innermost function that has this share of it."""
_VARIES = 0.1
"""Additional relative error of a figure in a run."""
_LEAST_FREE = 0.1
"""The least share of time without waiting for a CPU that is assumed."""
_ENDS = 2
"""Functions at either end of a stack that identify a place."""


@dataclass(frozen=True)
class Cost:
    """The cost of a line in one revision."""

    wakeups_per_s: float = 0.0
    cpu_share: float = 0.0

    @property
    def price(self) -> float:
        """CPU seconds per second."""
        return max(self.cpu_share, self.wakeups_per_s * WAKEUP_COST_S)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place where a thread waits or works."""

    waits: bool
    stack: tuple[Frame, ...]
    """The outermost first; empty if unknown."""
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class Line:
    """A place of a thread with its costs in all revisions."""

    process: str
    thread: str
    waits: bool
    frames: tuple[Frame, ...]
    """Functions, the outermost first, then the system call of a sleeping thread, if known."""
    costs: tuple[Cost, ...]

    @property
    def size(self) -> tuple[float, float]:
        """The difference between both revisions, and the higher cost."""
        prices = [cost.price for cost in self.costs]
        return abs(prices[0] - prices[-1]), max(prices)


def lines(whys: Sequence[Why]) -> list[Line]:
    """The lines of one or two revisions, those of the most changed thread first."""
    by_name = [{(it.process, it.name): it for it in why.threads} for why in whys]
    names = dict.fromkeys(name for threads in reversed(by_name) for name in threads)
    pairs = [[threads.get(name, _missing(*name)) for threads in by_name] for name in names]
    pairs.sort(key=lambda pair: (_change(pair), max(_whole(it).price for it in pair)), reverse=True)
    return [
        line
        for pair in pairs
        for line in sorted(_lines_of(pair), key=attrgetter("size"), reverse=True)
    ]


def total(costs: Iterable[Cost]) -> Cost:
    costs = list(costs)
    return Cost(sum(it.wakeups_per_s for it in costs), sum(it.cpu_share for it in costs))


def places(thread: Thread) -> list[Place]:
    """The places of a thread; each has its share of the counted costs by the number of looks."""
    whole, result = _whole(thread), []
    for waits, stacks in ((True, thread.asleep or (Stack((), 1),)), (False, thread.at_work)):
        cpu = 0.0 if waits and thread.at_work else whole.cpu_share
        looks = sum(stack.looks for stack in stacks)
        for stack in stacks:
            share = stack.looks / looks
            cost = Cost(whole.wakeups_per_s * waits * share, cpu * share)
            if cost.price:
                result.append(Place(waits=waits, stack=stack.frames, cost=cost))
    return result


def _missing(process: str, name: str) -> Thread:
    """Stands for a thread that only the other revision has."""
    return Thread(process=process, name=name, wakeups_per_s=(), cpu_share=())


def _whole(thread: Thread) -> Cost:
    return Cost(fmean(thread.wakeups_per_s or [0.0]), fmean(thread.cpu_share or [0.0]))


def _change(threads: Sequence[Thread]) -> float:
    before, after = threads[0], threads[-1]
    if len(threads) == 1 or _missing(after.process, after.name) in threads:
        return max(_whole(thread).price for thread in threads)
    certain = [0.0]
    for unit, price in (
        (attrgetter("wakeups_per_s"), WAKEUP_COST_S),
        (attrgetter("cpu_share"), 1.0),
    ):
        low, high = _range(unit(before), before.delayed)
        other_low, other_high = _range(unit(after), after.delayed)
        certain += [(low - other_high) * price, (other_low - high) * price]
    return max(certain)


def _range(parts: Sequence[float], delayed: float) -> tuple[float, float]:
    """The range of a thread's figure, by its variation and delays."""
    # A thread that sleeps for a fixed time after each piece of work wakes less often if delayed.
    held_up = 1 / max(1 - delayed, _LEAST_FREE)
    low, high = min(parts, default=0.0), max(parts, default=0.0)
    return low * (1 - _VARIES), high * held_up / (1 - _VARIES)


def _lines_of(threads: Sequence[Thread]) -> Iterator[Line]:
    line = partial(Line, process=threads[-1].process, thread=threads[-1].name)
    by_revision = [places(thread) for thread in threads]
    working = [[place for place in group if not place.waits] for group in by_revision]
    waiting: dict[_Names, list[list[Place]]] = {}
    for index, group in enumerate(by_revision):
        for place in (place for place in group if place.waits):
            same = waiting.setdefault(_ends(place.stack), [[] for _ in threads])
            same[index].append(place)
    for same in waiting.values():
        costs = [total(place.cost for place in group) for group in same]
        if any(working):
            # If only one revision was seen at work, the CPU of both is attributed there.
            costs = [Cost(cost.wakeups_per_s) for cost in costs]
        if any(cost.price for cost in costs):
            *_, last = chain(*same)
            yield line(waits=True, frames=last.stack, costs=tuple(costs))
    if any(working):
        most = max(working, key=lambda group: total(place.cost for place in group).cpu_share)
        costs = [Cost(0.0, _whole(thread).cpu_share) for thread in threads]
        yield line(waits=False, frames=_innermost(most), costs=tuple(costs))


def _innermost(working: Sequence[Place]) -> tuple[Frame, ...]:
    """The functions down to the innermost one with much of the work."""
    cpu: defaultdict[_Names, float] = defaultdict(float)
    frames: dict[_Names, tuple[Frame, ...]] = {}
    for place in working:
        functions = tuple(frame for frame in place.stack if frame.kind != KERNEL)
        for depth in range(len(functions) + 1):
            names = _names(functions[:depth])
            cpu[names] += place.cost.cpu_share
            frames[names] = functions[:depth]
    return max((frames[key] for key in cpu if cpu[key] >= cpu[()] * _MUCH_OF_WORK), key=len)


_Names = tuple[tuple[str, str], ...]
"""Names and files of functions, without line numbers."""


def _names(frames: Iterable[Frame]) -> _Names:
    return tuple((frame.name, frame.file) for frame in frames)


def _ends(stack: Sequence[Frame]) -> _Names:
    """The identity of a place in its thread: by the system call if no function is known."""
    names = _names([frame for frame in stack if frame.kind != KERNEL] or stack)
    return names[:_ENDS] + names[-_ENDS:]

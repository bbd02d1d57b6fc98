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

from waitbench.features.why.samples import KERNEL, Frame, Samples, Stack, Thread
from waitbench.model.metrics import WAKEUP_COST_S, Cost

_MUCH_OF_WORK = 0.4
"""A line of work ends in the innermost function that has this share of it."""
_VARIES = 0.1
"""Additional relative error of a figure in a run."""
_LEAST_FREE = 0.1
"""The least share of time without waiting for a CPU that is assumed."""
_ENDS = 2
"""Functions at either end of a stack that identify a place."""


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


def lines(revisions: Sequence[Samples]) -> list[Line]:
    """The lines of one or two revisions, those of the most changed thread first."""
    by_name = [{(it.process, it.name): it for it in samples.threads} for samples in revisions]
    names = dict.fromkeys(name for threads in reversed(by_name) for name in threads)
    pairs = [[threads.get(name, _missing(*name)) for threads in by_name] for name in names]
    pairs.sort(key=lambda pair: (_change(pair), max(it.cost.price for it in pair)), reverse=True)
    return [
        line
        for pair in pairs
        for line in sorted(_lines_of(pair), key=lambda line: line.size, reverse=True)
    ]


def places(thread: Thread) -> list[Place]:
    """The places of a thread; each has its share of the counted costs by the number of samples."""
    whole, result = thread.cost, []
    for waits, stacks in ((True, thread.asleep or (Stack((), 1),)), (False, thread.at_work)):
        cores = 0.0 if waits and thread.at_work else whole.cores
        samples = sum(stack.samples for stack in stacks)
        for stack in stacks:
            share = stack.samples / samples
            cost = Cost(wakeups_per_s=whole.wakeups_per_s * waits * share, cores=cores * share)
            if cost.price:
                result.append(Place(waits=waits, stack=stack.frames, cost=cost))
    return result


def _missing(process: str, name: str) -> Thread:
    """Stands for a thread that only the other revision has."""
    return Thread(process=process, name=name, wakeups_per_s=(), cpu_share=())


def _change(threads: Sequence[Thread]) -> float:
    """The cost by which a thread certainly differs between revisions; of one alone, all of it."""
    before, after = threads[0], threads[-1]
    if len(threads) == 1 or _missing(after.process, after.name) in threads:
        return max(thread.cost.price for thread in threads)
    wakeups = _gap(*((it.wakeups_per_s, it.delayed) for it in (before, after)))
    return max(
        wakeups * WAKEUP_COST_S, _gap(*((it.cpu_share, it.delayed) for it in (before, after)))
    )


def _gap(*figures: tuple[Sequence[float], float]) -> float:
    """The gap between the ranges of two figures, each by its variation and its delays."""
    (low, high), (other_low, other_high) = (
        # A thread that sleeps for a fixed time after each piece of work wakes less often if
        # delayed.
        (
            min(parts, default=0.0) * (1 - _VARIES),
            max(parts, default=0.0) / max(1 - delayed, _LEAST_FREE) / (1 - _VARIES),
        )
        for parts, delayed in figures
    )
    return max(0.0, low - other_high, other_low - high)


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
        costs = [Cost.total(place.cost for place in group) for group in same]
        if any(working):
            # If only one revision was seen at work, the CPU of both is attributed there.
            costs = [Cost(wakeups_per_s=cost.wakeups_per_s) for cost in costs]
        if any(cost.price for cost in costs):
            *_, last = chain(*same)
            yield line(waits=True, frames=last.stack, costs=tuple(costs))
    if any(working):
        most = max(working, key=lambda group: Cost.total(place.cost for place in group).cores)
        costs = [Cost(cores=thread.cost.cores) for thread in threads]
        yield line(waits=False, frames=_innermost(most), costs=tuple(costs))


def _innermost(working: Sequence[Place]) -> tuple[Frame, ...]:
    """The functions down to the innermost one with much of the work."""
    cores: defaultdict[_Names, float] = defaultdict(float)
    frames: dict[_Names, tuple[Frame, ...]] = {}
    for place in working:
        functions = tuple(frame for frame in place.stack if frame.kind != KERNEL)
        for depth in range(len(functions) + 1):
            names = _names(functions[:depth])
            cores[names] += place.cost.cores
            frames[names] = functions[:depth]
    return max((frames[key] for key in cores if cores[key] >= cores[()] * _MUCH_OF_WORK), key=len)


_Names = tuple[tuple[str, str], ...]
"""Names and files of functions, without line numbers."""


def _names(frames: Iterable[Frame]) -> _Names:
    return tuple((frame.name, frame.file) for frame in frames)


def _ends(stack: Sequence[Frame]) -> _Names:
    """The identity of a place in its thread: by the system call if no function is known."""
    names = _names([frame for frame in stack if frame.kind != KERNEL] or stack)
    return names[:_ENDS] + names[-_ENDS:]

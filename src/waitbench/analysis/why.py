"""Where two revisions wait and work -> lines, by threads: first that which certainly changed most.

How often a thread wakes up, and how much CPU it uses, is known within a range: both vary while they
are counted, and would be more if the thread had never had to wait for a CPU that others used. What
lies between the ranges of two revisions is certain. A thread that only one of them has needs none
of that: it is new, or gone, whatever the machine does.

CPU is counted of a whole thread. It stands where the thread was seen at work; else where it waits.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from statistics import fmean

from waitbench.model.why import KERNEL, Frame, Stack, Thread, Why

_MUCH_OF_WORK = 0.4
"""A line of work is the innermost function that has so much of it."""
_VARIES = 0.1
"""By such a share of itself a figure may be off in a run, besides all that is known."""
_LEAST_FREE = 0.1
"""Who was held up for more of the time than the rest of this is taken to be for as long."""
_PRICE_S = 5e-5
"""What a wake-up counts for beside CPU, where lines are put in order."""
_ENDS = 2
"""So many functions of either end tell a place from others."""


@dataclass(frozen=True)
class Cost:
    """What a line costs one revision."""

    wakeups_per_s: float = 0.0
    cpu_share: float = 0.0

    @property
    def price(self) -> float:
        """In CPU seconds a second."""
        return max(self.cpu_share, self.wakeups_per_s * _PRICE_S)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a thread waits or works, and what that costs."""

    waits: bool
    stack: tuple[Frame, ...]
    """The outermost first; empty where it was not seen."""
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class Line:
    """Where one thread waits or works, in both revisions."""

    process: str
    thread: str
    waits: bool
    frames: tuple[Frame, ...]
    """Its functions, the outermost first, then the system call that it sleeps in, if known."""
    costs: tuple[Cost, ...]
    """Of each revision, the baseline first."""

    @property
    def size(self) -> tuple[float, float]:
        """How far both are apart, whatever made them so; and what it costs at the most."""
        prices = [cost.price for cost in self.costs]
        return abs(prices[0] - prices[-1]), max(prices)


def lines(several: Sequence[Why]) -> list[Line]:
    """Those of a revision, or of two: of the thread that changed most first, then of what costs."""
    threads = [{(one.process, one.name): one for one in why.threads} for why in several]
    names = dict.fromkeys(who for of_one in reversed(threads) for who in of_one)
    found = [[of_one.get(who, _missing(*who)) for of_one in threads] for who in names]
    found.sort(
        key=lambda same: (_change(same), max(_whole(one).price for one in same)), reverse=True
    )
    return [
        line
        for same in found
        for line in sorted(_lines_of(same), key=lambda line: line.size, reverse=True)
    ]


def total(costs: Iterable[Cost]) -> Cost:
    """What some places cost together."""
    costs = list(costs)
    return Cost(sum(one.wakeups_per_s for one in costs), sum(one.cpu_share for one in costs))


def places(thread: Thread) -> list[Place]:
    """Where a thread waits and works, each with its share of what was counted, by its looks."""
    whole, found = _whole(thread), []
    for waits, stacks in ((True, thread.asleep or (Stack((), 1),)), (False, thread.at_work)):
        cpu = 0.0 if waits and thread.at_work else whole.cpu_share
        looks = sum(stack.looks for stack in stacks)
        for stack in stacks:
            share = stack.looks / looks
            cost = Cost(whole.wakeups_per_s * waits * share, cpu * share)
            if cost.price:
                found.append(Place(waits=waits, stack=stack.frames, cost=cost))
    return found


def _missing(process: str, name: str) -> Thread:
    """What a revision has of a thread that only the other one has."""
    return Thread(process=process, name=name, wakeups_per_s=(), cpu_share=())


def _whole(thread: Thread) -> Cost:
    return Cost(fmean(thread.wakeups_per_s or [0.0]), fmean(thread.cpu_share or [0.0]))


def _change(threads: Sequence[Thread]) -> float:
    """By how much a thread certainly costs more or less, in CPU seconds a second."""
    before, after = threads[0], threads[-1]
    if len(threads) == 1 or _missing(after.process, after.name) in threads:
        return max(_whole(one).price for one in threads)
    certain = [0.0]
    for unit, price in ((attrgetter("wakeups_per_s"), _PRICE_S), (attrgetter("cpu_share"), 1.0)):
        low, high = _range(unit(before), before.delayed)
        other_low, other_high = _range(unit(after), after.delayed)
        certain += [(low - other_high) * price, (other_low - high) * price]
    return max(certain)


def _range(parts: Sequence[float], delayed: float) -> tuple[float, float]:
    """Within what a figure of a thread is known: by how it varied, and was held up."""
    # Who sleeps for so long after each piece of work does so less often when it is held up.
    held_up = 1 / max(1 - delayed, _LEAST_FREE)
    low, high = min(parts, default=0.0), max(parts, default=0.0)
    return low * (1 - _VARIES), high * held_up / (1 - _VARIES)


def _lines_of(threads: Sequence[Thread]) -> Iterator[Line]:
    """The lines of one thread, of each revision."""
    line = partial(Line, process=threads[-1].process, thread=threads[-1].name)
    found = [places(thread) for thread in threads]
    working = [[place for place in own if not place.waits] for own in found]
    waiting: dict[_Names, list[list[Place]]] = {}
    for number, own in enumerate(found):
        for place in (one for one in own if one.waits):
            same = waiting.setdefault(_ends(place.stack), [[] for _ in threads])
            same[number].append(place)
    for of_each in waiting.values():
        costs = [total(place.cost for place in own) for own in of_each]
        if any(working):
            # Where only one revision was seen at work, the CPU of both stands there.
            costs = [Cost(cost.wakeups_per_s) for cost in costs]
        if any(cost.price for cost in costs):
            *_, last = chain(*of_each)
            yield line(waits=True, frames=last.stack, costs=tuple(costs))
    if any(working):
        most = max(working, key=lambda own: total(place.cost for place in own).cpu_share)
        costs = [Cost(0.0, _whole(thread).cpu_share) for thread in threads]
        yield line(waits=False, frames=_innermost(most), costs=tuple(costs))


def _innermost(working: Sequence[Place]) -> tuple[Frame, ...]:
    """The functions down to the innermost one that has much of the work."""
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
"""Name and file of functions. The line in a function does not count."""


def _names(frames: Iterable[Frame]) -> _Names:
    return tuple((frame.name, frame.file) for frame in frames)


def _ends(stack: Sequence[Frame]) -> _Names:
    """What tells a place of a thread from its others: the system call if no function is known."""
    names = _names([frame for frame in stack if frame.kind != KERNEL] or stack)
    return names[:_ENDS] + names[-_ENDS:]

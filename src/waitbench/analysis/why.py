"""Where two revisions wait and work -> lines, by threads: first that which certainly changed most.

How often a thread wakes up, and how much CPU it uses, is known within a range: both vary while they
are counted, and would be more if the thread had never had to wait for a CPU that others used. What
lies between the ranges of two revisions is certain. A thread that only one of them has needs none
of that: it is new, or gone, whatever the machine does.

CPU is counted of a whole thread. It stands where the thread was seen at work; else where it waits.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from waitbench.analysis.statistics import CONFIDENCE, t_quantile
from waitbench.model.why import KERNEL, Frame, Stack, Thread, Why

_MUCH_OF_WORK = 0.4
"""A line of work is the innermost function that has so much of it."""
_VARIES = 0.1
"""By such a share of itself a figure may be off in a run, besides all that is known."""
_LEAST_FREE = 0.1
"""Who was held up for more of the time than the rest of this is taken to be for as long."""
_PRICE_S = 5e-5
"""What a wake-up counts for beside CPU, where lines are put in order."""
_ENDS, _DEEP = 2, 5
"""So many functions of either end tell a place from others, of a stack with more than so many."""


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
    """Its functions, the outermost first; empty where none is known."""
    calls: tuple[str, ...]
    """The system calls that it sleeps in."""
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
    found = []
    for who in names:
        same = [of_one.get(who) for of_one in threads]
        own = sorted(_lines_of(same), key=lambda line: line.size, reverse=True)
        found.append((_change(same), max(map(_price, same)), own))
    found.sort(key=lambda one: one[:2], reverse=True)
    return [line for *_, own in found for line in own]


def total(costs: Iterable[Cost]) -> Cost:
    """What some places cost together."""
    costs = list(costs)
    return Cost(sum(one.wakeups_per_s for one in costs), sum(one.cpu_share for one in costs))


def places(thread: Thread | None) -> list[Place]:
    """Where a thread waits and works, each with its share of what was counted, by its looks."""
    if thread is None:
        return []
    whole = _whole(thread)
    while_asleep = Cost(whole.wakeups_per_s, 0.0 if thread.at_work else whole.cpu_share)
    return [
        *_shared(thread.asleep or (Stack((), 1),), while_asleep, waits=True),
        *_shared(thread.at_work, Cost(0.0, whole.cpu_share), waits=False),
    ]


def _shared(stacks: Sequence[Stack], whole: Cost, *, waits: bool) -> Iterator[Place]:
    looks = sum(stack.looks for stack in stacks)
    for stack in stacks:
        share = stack.looks / looks
        cost = Cost(whole.wakeups_per_s * share, whole.cpu_share * share)
        if cost.price:
            yield Place(waits=waits, stack=stack.frames, cost=cost)


def _whole(thread: Thread) -> Cost:
    return Cost(_mean(thread.wakeups_per_s), _mean(thread.cpu_share))


def _mean(parts: Sequence[float]) -> float:
    return math.fsum(parts) / max(len(parts), 1)


def _price(thread: Thread | None) -> float:
    return _whole(thread).price if thread else 0.0


def _change(threads: Sequence[Thread | None]) -> float:
    """By how much a thread certainly costs more or less, in CPU seconds a second."""
    before, after = threads[0], threads[-1]
    if before is None or after is None or len(threads) == 1:
        return max(map(_price, threads))
    wakeups = _between(_range(before, before.wakeups_per_s), _range(after, after.wakeups_per_s))
    cpu = _between(_range(before, before.cpu_share), _range(after, after.cpu_share))
    return max(wakeups * _PRICE_S, cpu)


def _range(thread: Thread, parts: Sequence[float]) -> tuple[float, float]:
    """Within what a figure is known: by how it varied, and was held up."""
    mean, wide = _mean(parts), 0.0
    if len(parts) > 1:
        squares = math.fsum((one - mean) ** 2 for one in parts) / (len(parts) - 1)
        wide = math.sqrt(squares / len(parts)) * t_quantile((1 + CONFIDENCE) / 2, len(parts) - 1)
    # Who sleeps for so long after each piece of work does so less often when it is held up.
    held_up = 1 / max(1 - thread.delayed, _LEAST_FREE)
    return max(0.0, mean - wide) * (1 - _VARIES), (mean * held_up + wide) / (1 - _VARIES)


def _between(one: tuple[float, float], other: tuple[float, float]) -> float:
    """What lies between two ranges."""
    return max(0.0, one[0] - other[1], other[0] - one[1])


_Key = tuple[tuple[str, str], ...]
"""What tells one place of a thread from its others: name and file of functions.

Where no function is known, the system calls, without a name. The line in a function does not count.
"""


def _lines_of(threads: Sequence[Thread | None]) -> Iterator[Line]:
    """The lines of one thread, of each revision."""
    shown = next(thread for thread in reversed(threads) if thread)
    found = [places(thread) for thread in threads]
    working = [[place for place in own if not place.waits] for own in found]
    if any(working):
        # Where only one revision was seen at work, the CPU of both stands there.
        found = [[replace(one, cost=Cost(one.cost.wakeups_per_s)) for one in own] for own in found]
    waiting: dict[_Key, list[Place]] = {}
    for place in chain(*found):
        if place.waits and place.cost.price:
            waiting.setdefault(_key(place), []).append(place)
    for key, same in waiting.items():
        of_each = ((p.cost for p in own if p.waits and _key(p) == key) for own in found)
        yield Line(
            process=shown.process,
            thread=shown.name,
            waits=True,
            frames=tuple(_own(same[-1])),
            calls=tuple(dict.fromkeys(call for place in same for call in _calls(place))),
            costs=tuple(map(total, of_each)),
        )
    if any(working):
        whole = (_whole(thread) if thread else Cost() for thread in threads)
        most = max(working, key=lambda own: total(place.cost for place in own).cpu_share)
        yield Line(
            process=shown.process,
            thread=shown.name,
            waits=False,
            frames=tuple(_innermost(most)),
            calls=(),
            costs=tuple(Cost(0.0, cost.cpu_share) for cost in whole),
        )


def _innermost(working: Sequence[Place]) -> list[Frame]:
    """The functions down to the innermost one that has much of the work."""
    least, depth = total(place.cost for place in working).cpu_share * _MUCH_OF_WORK, 0
    while True:
        shares: dict[tuple[str, str], list[Place]] = {}
        for place in working:
            for name in _names(_own(place)[depth : depth + 1]):
                shares.setdefault(name, []).append(place)
        cpu = {name: total(p.cost for p in own).cpu_share for name, own in shares.items()}
        most = max(cpu, key=cpu.__getitem__, default=None)
        if most is None or cpu[most] < least:
            return _own(working[0])[:depth]
        depth, working = depth + 1, shares[most]


def _own(place: Place) -> list[Frame]:
    """Its functions, the outermost first."""
    return [frame for frame in place.stack if frame.kind != KERNEL]


def _calls(place: Place) -> list[str]:
    return [frame.name for frame in place.stack if frame.kind == KERNEL]


def _names(frames: Iterable[Frame]) -> _Key:
    return tuple((frame.name, frame.file) for frame in frames)


def _key(place: Place) -> _Key:
    names = _names(_own(place))
    if len(names) > _DEEP:
        return names[:_ENDS] + names[-_ENDS:]
    return names or tuple(("", call) for call in _calls(place))

"""Tables of the wake-ups and CPU of threads, for each candidate, the most changed thread first.

The wake-ups and the CPU of a thread have ranges: both vary while they are counted, and would be
higher without delays by other threads. Only the gap between the ranges of two revisions is a
certain change. If only one revision has a thread, its whole cost is the change.

CPU is counted for each thread, not for its functions. It is attributed to the stacks sampled at
work, or if there are none, to the stacks sampled asleep.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from waitbench.features.why.samples import KERNEL, PYTHON, Frame, Samples, Stack, Thread
from waitbench.model.metrics import WAKEUP_COST_S, Cost
from waitbench.reporting.document import Column, Heading, Table, TextCell
from waitbench.reporting.drawing import shorten
from waitbench.reporting.formats import NOTHING

_LEAST_SHARE = 0.4
"""A line at work ends in the innermost function with at least this share of the CPU."""
_RANGE_ERROR = 0.1
"""The relative error that is added to each end of a range."""
_LEAST_FREE = 0.1
"""The least share of time in which a thread counts as not delayed."""
_ENDS, _DEEP = 2, 5
"""The functions at either end of a stack that identify a place.

A table shows only these of a stack with more than ``_DEEP`` functions."""
_MOST_ROWS = 10
_LEAST_WAKEUPS, _LEAST_CORES = 0.05, 0.0005
"""Wake-ups per second and cores; smaller figures are not shown."""
_LABEL_WIDTH = 12


Places = list[tuple[tuple[Frame, ...], Cost]]
"""Stacks in which a thread sleeps, or works, each with its part of the thread's cost.

A stack has the outermost function first; it is empty if it is unknown."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A place of a thread with its costs in one or two revisions."""

    process: str
    thread: str
    is_asleep: bool
    frames: tuple[Frame, ...]
    """The stack: functions, the outermost first, then the system call if known."""
    costs: tuple[Cost, ...]

    @property
    def size(self) -> tuple[float, float]:
        """The sort key: the difference between the revisions, then the higher cost."""
        cores = [cost.estimated_cores for cost in self.costs]
        return abs(cores[0] - cores[-1]), max(cores)


def tables(title: str, revisions: Sequence[Samples]) -> list[Table]:
    """A table for each candidate with the baseline, or a table of the baseline alone."""
    baseline, *candidates = revisions
    pairs = [[baseline, candidate] for candidate in candidates] or [[baseline]]
    return [_table(title, pair) for pair in pairs]


def _table(title: str, revisions: Sequence[Samples]) -> Table:
    shown = [it for it in lines(revisions) if any(_text(cost) != NOTHING for cost in it.costs)]
    rows = [(_named(line), _where(line), line.costs) for line in shown[:_MOST_ROWS]]
    rest = [line.costs for line in shown[_MOST_ROWS:]]
    if rest:
        rows.append((f"{len(rest)} others", "", tuple(map(Cost.total, zip(*rest, strict=True)))))
    columns: list[Column] = [
        (Heading("who"), [name for name, *_ in rows]),
        (Heading("from where"), [place for _, place, _ in rows]),
    ]
    by_revision = zip(*(costs for *_, costs in rows), strict=True)
    for samples, costs in zip(revisions, by_revision, strict=False):
        cells = [TextCell(text=_text(cost), sort=cost.wakeups_per_s) for cost in costs]
        columns.append((shorten(samples.label, _LABEL_WIDTH), cells))
    return Table(title, columns, [f"{it.label}: {text}" for it in revisions for text in it.remarks])


def _named(line: Line) -> str:
    """Names a thread, after its process unless the process is called ``worker``."""
    return line.thread if line.process == "worker" else f"{line.process}, {line.thread}"


def _where(line: Line) -> str:
    """The functions of a line, the innermost last, and its system calls."""
    frames = [_frame(frame) for frame in line.frames if frame.kind != KERNEL]
    if len(frames) > _DEEP:
        frames[_ENDS:-_ENDS] = ["…"]
    text = " › ".join(frames) or "stack not seen"
    calls = ", ".join(frame.name for frame in line.frames if frame.kind == KERNEL)
    if not line.is_asleep:
        return f"{text} (at work)"
    return f"{text} [{calls}]" if calls else text


def _frame(frame: Frame) -> str:
    if frame.kind != PYTHON or not frame.file:
        # A whole path of modules does not fit a console.
        return "::".join(frame.name.split("::")[-2:])
    return f"{frame.name} ({frame.file}{f':{frame.line}' if frame.line else ''})"


def _text(cost: Cost) -> str:
    rate, figures = cost.wakeups_per_s, []
    if rate >= _LEAST_WAKEUPS:
        figures.append(f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.1f}/s")
    if cost.cores >= _LEAST_CORES:
        figures.append(f"{cost.cores * 100:.1f} %")
    return ", ".join(figures) or NOTHING


def lines(revisions: Sequence[Samples]) -> list[Line]:
    """The lines of one or two revisions. Those of the most changed thread come first."""
    by_name = [{(it.process, it.name): it for it in samples.threads} for samples in revisions]
    names = dict.fromkeys(name for threads in reversed(by_name) for name in threads)
    pairs = [[threads.get(name, _missing(*name)) for threads in by_name] for name in names]
    pairs.sort(key=_change, reverse=True)
    return [
        line
        for pair in pairs
        for line in sorted(_lines_of(pair), key=lambda line: line.size, reverse=True)
    ]


def _places(thread: Thread) -> tuple[Places, Places]:
    """Divides the cost of a thread among its stacks asleep and at work, by numbers of samples."""
    whole, asleep, at_work = thread.cost, Places(), Places()
    for is_asleep, stacks in ((True, thread.asleep or (Stack((), 1),)), (False, thread.at_work)):
        cores = 0.0 if is_asleep and thread.at_work else whole.cores
        samples = sum(stack.samples for stack in stacks)
        for stack in stacks:
            share = stack.samples / samples
            cost = Cost(wakeups_per_s=whole.wakeups_per_s * is_asleep * share, cores=cores * share)
            if cost.estimated_cores:
                (asleep if is_asleep else at_work).append((stack.frames, cost))
    return asleep, at_work


def _missing(process: str, name: str) -> Thread:
    """A thread without costs, in place of one that only the other revision has."""
    return Thread(process=process, name=name, wakeups_per_s=(), cpu_share=())


def _change(threads: Sequence[Thread]) -> tuple[float, float]:
    """The sort key: the certain change between two revisions, or else the cost; then the cost."""
    before, after = threads[0], threads[-1]
    cores = max(thread.cost.estimated_cores for thread in threads)
    if len(threads) == 1 or _missing(after.process, after.name) in threads:
        return cores, cores
    wakeups = _gap(*((it.wakeups_per_s, it.delayed) for it in (before, after)))
    cpu = _gap(*((it.cpu_share, it.delayed) for it in (before, after)))
    return max(wakeups * WAKEUP_COST_S, cpu), cores


def _gap(*figures: tuple[Sequence[float], float]) -> float:
    """The gap between the ranges of two figures.

    Each is given as its values in parts of the counted time, and the share of time delayed.
    """
    (low, high), (other_low, other_high) = (
        # Without delays, a thread that sleeps after each piece of work would wake up more often.
        (
            min(parts, default=0.0) * (1 - _RANGE_ERROR),
            max(parts, default=0.0) / max(1 - delayed, _LEAST_FREE) / (1 - _RANGE_ERROR),
        )
        for parts, delayed in figures
    )
    return max(0.0, low - other_high, other_low - high)


def _lines_of(threads: Sequence[Thread]) -> Iterator[Line]:
    """A line for each place in which the thread of any revision sleeps, and one for its work."""
    line = partial(Line, process=threads[-1].process, thread=threads[-1].name)
    by_revision, working = zip(*map(_places, threads), strict=True)
    waiting: dict[_Names, list[Places]] = {}
    for index, asleep in enumerate(by_revision):
        for stack, cost in asleep:
            waiting.setdefault(_ends(stack), [[] for _ in threads])[index].append((stack, cost))
    for at_place in waiting.values():
        costs = [Cost.total(cost for _, cost in places) for places in at_place]
        if any(working):
            # If one revision has samples at work, all CPU is attributed to them.
            costs = [Cost(wakeups_per_s=cost.wakeups_per_s) for cost in costs]
        if any(cost.estimated_cores for cost in costs):
            *_, (last, _) = chain(*at_place)
            yield line(is_asleep=True, frames=last, costs=tuple(costs))
    if any(working):
        busiest = max(working, key=lambda places: sum(cost.cores for _, cost in places))
        costs = [Cost(cores=thread.cost.cores) for thread in threads]
        yield line(is_asleep=False, frames=_innermost(busiest), costs=tuple(costs))


def _innermost(working: Places) -> tuple[Frame, ...]:
    """The functions down to the innermost one that has ``_LEAST_SHARE`` of the CPU."""
    cores: defaultdict[_Names, float] = defaultdict(float)
    frames: dict[_Names, tuple[Frame, ...]] = {}
    for stack, cost in working:
        functions = tuple(frame for frame in stack if frame.kind != KERNEL)
        for depth in range(len(functions) + 1):
            names = _names(functions[:depth])
            cores[names] += cost.cores
            frames[names] = functions[:depth]
    return max((frames[key] for key in cores if cores[key] >= cores[()] * _LEAST_SHARE), key=len)


_Names = tuple[tuple[str, str], ...]
"""Names and files of functions, without line numbers, which differ between revisions."""


def _names(frames: Iterable[Frame]) -> _Names:
    return tuple((frame.name, frame.file) for frame in frames)


def _ends(stack: Sequence[Frame]) -> _Names:
    """The identity of a place: functions at both ends, or the system call if none is known."""
    names = _names([frame for frame in stack if frame.kind != KERNEL] or stack)
    return names[:_ENDS] + names[-_ENDS:]

"""Where revisions wait and work -> a table of what changed, sentences, and a flame graph."""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from waitbench.analysis.why import Cost, Line, lines, places, total
from waitbench.model.why import KERNEL, PYTHON, Frame, Why
from waitbench.reporting.document import Flame, FlameBox, Heading, Table, Word
from waitbench.reporting.drawing import shorten
from waitbench.reporting.formats import NOTHING, format_number

_MOST_ROWS = 10
_LEAST_WAKEUPS, _LEAST_CPU = 0.05, 0.0005
"""A second, and of a CPU: a line with less in each revision is not worth a row."""
_LABEL_WIDTH = 12
_ENDS, _DEEP = 2, 5
_PARTS = 2
_NARROWEST = 0.0005
"""A function that is less wide, as a share of its flame graph, is left out."""
_ALIKE = 0.1
"""A function whose share in the two revisions differs by less than this is the same."""
_UNKNOWN = "stack not seen"


def tables(scenario: str, several: Sequence[Why]) -> list[Table]:
    """A table for each candidate beside the baseline, which comes first; alone if it is alone."""
    return [_table(scenario, shown) for shown in _pairs(several)]


def _table(scenario: str, shown: Sequence[Why]) -> Table:
    # A line that costs no revision more than next to nothing is not worth a row.
    found = [one for one in lines(shown) if any(_text(c) != NOTHING for c in one.costs)]
    rows = [(who(line), where(line), line.costs) for line in found[:_MOST_ROWS]]
    rest = [line.costs for line in found[_MOST_ROWS:]]
    if rest:
        rows.append((f"{len(rest)} others", "", tuple(map(total, zip(*rest, strict=True)))))
    costs = zip(*(of for *_, of in rows), strict=True)
    columns = [
        (shorten(why.label, _LABEL_WIDTH), [Word(text=_text(c), sort=c.wakeups_per_s) for c in of])
        for why, of in zip(shown, costs, strict=False)
    ]
    said = [f"{why.label}: {remark}" for why in shown for remark in why.remarks]
    title = f"{scenario} · who wakes up while it waits, and from where · one extra run each"
    names = (
        (Heading("who"), [name for name, *_ in rows]),
        (Heading("from where"), [place for _, place, _ in rows]),
    )
    return Table(title, (*names, *columns), said)


def who(line: Line) -> str:
    """The thread, and its process where that is not the only one."""
    return line.thread if line.process == "worker" else f"{line.process}, {line.thread}"


def where(line: Line) -> str:
    """The functions, the innermost last; of a deep stack those of either end."""
    frames = [_frame(frame) for frame in line.frames if frame.kind != KERNEL]
    if len(frames) > _DEEP:
        frames[_ENDS:-_ENDS] = ["…"]
    text = " › ".join(frames) or _UNKNOWN
    calls = ", ".join(frame.name for frame in line.frames if frame.kind == KERNEL)
    if not line.waits:
        return f"{text} (at work)"
    return f"{text} [{calls}]" if calls else text


def _frame(frame: Frame) -> str:
    if frame.kind != PYTHON or not frame.file:
        # A path of modules does not fit a console.
        return "::".join(frame.name.split("::")[-_PARTS:])
    return f"{frame.name} ({frame.file}{f':{frame.line}' if frame.line else ''})"


def _text(cost: Cost) -> str:
    rate, figures = cost.wakeups_per_s, []
    if rate >= _LEAST_WAKEUPS:
        figures.append(f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.1f}/s")
    if cost.cpu_share >= _LEAST_CPU:
        figures.append(f"{cost.cpu_share * 100:.1f} %")
    return ", ".join(figures) or NOTHING


def flames(several: Sequence[Why]) -> tuple[Flame, ...]:
    """The graphs of each candidate against the baseline; of one alone its own."""
    return tuple(
        (f"{' against '.join(one.label for one in shown[::-1])}, {by}", boxes)
        for shown in _pairs(several)
        for by, of, unit in (
            ("by wake-ups", attrgetter("wakeups_per_s"), " wake-ups a second"),
            ("by CPU", lambda cost: cost.cpu_share * 100, " % of a CPU"),
        )
        if (boxes := list(_boxes(shown, of, unit)))
    )


def _boxes(shown: Sequence[Why], of: Callable[[Cost], float], unit: str) -> Iterator[FlameBox]:
    """Each function before what is below it, as wide as what all spend there; none without any."""
    found: dict[_Path, list[float]] = {(): [0.0] * len(shown)}
    for number, why in enumerate(shown):
        for steps, cost in _stacks(why):
            for depth in range(len(steps) + 1):
                found.setdefault(steps[:depth], [0.0] * len(shown))[number] += of(cost)
    lefts: list[float] = []
    whole = sum(found[()])
    for steps, values in sorted(found.items()) if whole else ():
        depth, width = len(steps), sum(values) / whole
        left = lefts[depth] if depth < len(lefts) else 0.0
        # The next one of this depth stands beside it, what it calls begins where it does.
        lefts[depth:] = [left + width, left]
        if width >= _NARROWEST:
            figures = zip(shown, values, strict=True)
            said = ", ".join(f"{why.label} {format_number(value)}{unit}" for why, value in figures)
            yield FlameBox(depth, left, width, _tone(values), ("all", *steps)[-1], said)


def _tone(values: Sequence[float]) -> str:
    before, after = values[0], values[-1]
    if abs(after - before) <= _ALIKE * (after + before):
        return "same"
    return "less" if after < before else "more"


_Path = tuple[str, ...]
"""What stands on a stack, the outermost first: process, thread, functions."""


def _stacks(why: Why) -> Iterator[tuple[_Path, Cost]]:
    for thread in why.threads:
        for place in places(thread):
            frames = (f"{one.name} ({one.file})" if one.file else one.name for one in place.stack)
            yield (thread.process, thread.name, *frames), place.cost


def folded(why: Why) -> dict[str, dict[str, float]]:
    """Its stacks as flame graphs take them, ``outer;…;inner``: wake-ups and CPU by stack."""
    found: dict[str, dict[str, float]] = {"wakeups": {}, "cpu": {}}
    for steps, cost in _stacks(why):
        stack = ";".join(name.replace(";", ",") for name in steps)
        for unit, amount in (("wakeups", cost.wakeups_per_s), ("cpu", cost.cpu_share)):
            if amount:
                found[unit][stack] = found[unit].get(stack, 0.0) + amount
    return found


def _pairs(several: Sequence[Why]) -> list[Sequence[Why]]:
    """Each candidate with the baseline, which comes first; alone if it is alone."""
    return [(several[0], candidate) for candidate in several[1:]] or [several[:1]] * bool(several)

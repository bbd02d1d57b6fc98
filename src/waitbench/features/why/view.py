"""Places where revisions wait and work -> a table of wake-ups and CPU."""

from collections.abc import Sequence

from waitbench.features.why.lines import Line, lines
from waitbench.features.why.samples import KERNEL, PYTHON, Frame, Samples
from waitbench.model.metrics import Cost
from waitbench.reporting.document import Column, Heading, Table, TextCell
from waitbench.reporting.drawing import shorten
from waitbench.reporting.formats import NOTHING

_MOST_ROWS = 10
_LEAST_WAKEUPS, _LEAST_CORES = 0.05, 0.0005
"""Per second, and as a share of a CPU: a line with less in each revision has no row."""
_LABEL_WIDTH = 12
_ENDS, _DEEP = 2, 5
"""Functions shown of either end of a stack, where it has more than ``_DEEP``."""


def tables(title: str, revisions: Sequence[Samples]) -> list[Table]:
    """A table for each candidate beside the baseline, which comes first; or for it alone."""
    return [_table(title, shown) for shown in _pairs(revisions)]


def _table(title: str, shown: Sequence[Samples]) -> Table:
    worth = [it for it in lines(shown) if any(_text(cost) != NOTHING for cost in it.costs)]
    rows = [(_named(line), _where(line), line.costs) for line in worth[:_MOST_ROWS]]
    rest = [line.costs for line in worth[_MOST_ROWS:]]
    if rest:
        rows.append((f"{len(rest)} others", "", tuple(map(Cost.total, zip(*rest, strict=True)))))
    columns: list[Column] = [
        (Heading("who"), [name for name, *_ in rows]),
        (Heading("from where"), [place for _, place, _ in rows]),
    ]
    by_revision = zip(*(costs for *_, costs in rows), strict=True)
    for samples, costs in zip(shown, by_revision, strict=False):
        cells = [TextCell(text=_text(cost), sort=cost.wakeups_per_s) for cost in costs]
        columns.append((shorten(samples.label, _LABEL_WIDTH), cells))
    return Table(title, columns, [f"{it.label}: {text}" for it in shown for text in it.remarks])


def _named(line: Line) -> str:
    """The thread, and its process if there are several."""
    return line.thread if line.process == "worker" else f"{line.process}, {line.thread}"


def _where(line: Line) -> str:
    """The functions, the innermost last; of a deep stack both ends."""
    frames = [_frame(frame) for frame in line.frames if frame.kind != KERNEL]
    if len(frames) > _DEEP:
        frames[_ENDS:-_ENDS] = ["…"]
    text = " › ".join(frames) or "stack not seen"
    calls = ", ".join(frame.name for frame in line.frames if frame.kind == KERNEL)
    if not line.waits:
        return f"{text} (at work)"
    return f"{text} [{calls}]" if calls else text


def _frame(frame: Frame) -> str:
    if frame.kind != PYTHON or not frame.file:
        # A path of modules does not fit a console.
        return "::".join(frame.name.split("::")[-2:])
    return f"{frame.name} ({frame.file}{f':{frame.line}' if frame.line else ''})"


def _text(cost: Cost) -> str:
    rate, figures = cost.wakeups_per_s, []
    if rate >= _LEAST_WAKEUPS:
        figures.append(f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.1f}/s")
    if cost.cores >= _LEAST_CORES:
        figures.append(f"{cost.cores * 100:.1f} %")
    return ", ".join(figures) or NOTHING


def _pairs(revisions: Sequence[Samples]) -> list[Sequence[Samples]]:
    """Each candidate behind the baseline; or the baseline alone."""
    return [(revisions[0], other) for other in revisions[1:]] or [revisions[:1]] * bool(revisions)

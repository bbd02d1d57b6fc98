"""Formats the wake-ups and CPU of threads as tables, a table for each candidate."""

from collections.abc import Sequence

from waitbench.features.why.lines import Line, lines
from waitbench.features.why.samples import KERNEL, PYTHON, Frame, Samples
from waitbench.model.metrics import Cost
from waitbench.reporting.document import Column, Heading, Table, TextCell
from waitbench.reporting.drawing import shorten
from waitbench.reporting.formats import NOTHING

_MOST_ROWS = 10
_LEAST_WAKEUPS, _LEAST_CORES = 0.05, 0.0005
"""Wake-ups per second and cores; smaller figures are not shown."""
_LABEL_WIDTH = 12
_ENDS, _DEEP = 2, 5
"""A stack of more than ``_DEEP`` functions is shown by ``_ENDS`` functions at either end."""


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
    """Names a thread, with its process unless that is the only one."""
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

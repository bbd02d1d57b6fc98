"""Engines side by side: what a worker of each costs while it waits, and what that buys."""

from collections.abc import Sequence
from dataclasses import replace

from waitbench.analysis.side_by_side import Figure, SideBySide, estimate, is_shown
from waitbench.model.record import Context
from waitbench.reporting.document import Table
from waitbench.reporting.formats import NOTHING, format_number, format_spread
from waitbench.store.comparisons import Contents


def tables(contents: Contents, shown: SideBySide) -> list[Table]:
    """The means of all revisions, if they are of several engines or settings."""
    context = contents.context
    if context is None or not is_shown(context) or not contents.records:
        return []
    found = [
        table
        for title, figures in shown.groups.items()
        if (table := _table(f"{shown.title} · {title} · means", figures, contents, context))
        is not None
    ]
    # Said once, below the last.
    return [*found[:-1], *(replace(table, notes=_remarks(context)) for table in found[-1:])]


def _table(
    title: str, figures: Sequence[Figure], contents: Contents, context: Context
) -> Table | None:
    cells = {
        figure: [_cell(figure, contents, label) for label in context.labels] for figure in figures
    }
    having = [figure for figure in figures if any(cell != NOTHING for cell in cells[figure])]
    if not having:
        return None
    return Table(
        title,
        ("revision", *(figure.title for figure in having)),
        tuple(
            (label, *(cells[figure][place] for figure in having))
            for place, label in enumerate(context.labels)
        ),
    )


def _cell(figure: Figure, contents: Contents, label: str) -> str:
    found = estimate(figure, contents.records, label)
    if found is None:
        return NOTHING
    return f"{format_number(found.value)} {format_spread(found, format_number)}".rstrip()


def _remarks(context: Context) -> tuple[str, ...]:
    """What each engine does that others do not, once."""
    said = {one.engine: one.remark for one in context.revisions if one.remark}
    return tuple(f"{engine}: {remark}." for engine, remark in said.items())

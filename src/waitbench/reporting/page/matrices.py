"""What all scenarios say of all revisions, in one coloured table for each cost."""

from collections.abc import Mapping, Sequence

from waitbench.analysis.entries import Entry
from waitbench.analysis.history import Trend
from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.series import Series
from waitbench.reporting.page.figures import NOTHING, ratio_cell
from waitbench.reporting.page.parts import Cell, Heading, Table
from waitbench.reporting.summary import DISTURBED_MARK, DISTURBED_NOTE, TOTAL_MARK, TOTAL_NOTE

COSTS = ("steady", "cpu", "system", "real")
"""What there is a matrix of, the one that is looked at first before the others."""
_NOTES = {TOTAL_MARK: TOTAL_NOTE, DISTURBED_MARK: DISTURBED_NOTE}


def of_comparisons(
    comparisons: Sequence[Comparison], anchors: Mapping[str, str]
) -> tuple[Table, ...]:
    """Candidates by scenarios, relative to the baseline. ``anchors`` are sections by scenario.

    The first is of what the verdicts are of, so that it agrees with them.
    """
    labels = dict.fromkeys(row.label for one in comparisons for row in one.rows[1:])
    headings = [Heading(one.scenario, target=anchors[one.scenario]) for one in comparisons]
    tables = []
    for name in COSTS:
        if not any(name in row.ratios for one in comparisons for row in one.rows):
            continue
        cells = {label: [_cell(one, label, name) for one in comparisons] for label in labels}
        shown = "".join(cell.text for row in cells.values() for cell in row)
        tables.append(
            _matrix(
                BY_NAME[name],
                f"relative to {comparisons[0].baseline.label}",
                headings,
                cells,
                notes=tuple(note for mark, note in _NOTES.items() if mark in shown),
            )
        )
    return tuple(tables)


def of_trends(
    trends: Sequence[Trend], metric: Metric, called: Mapping[Series, Heading], newest: int
) -> Table:
    """Revisions by scenarios, relative to the anchor: the newest first."""
    entries: dict[str, Entry] = {
        place.entry.name: place.entry for one in trends for place in one.places
    }
    ratios = [{place.entry.name: place.ratio for place in one.places} for one in trends]
    names = sorted(entries, key=lambda name: entries[name].order, reverse=True)
    return _matrix(
        metric,
        f"relative to {trends[0].anchor}",
        [called[one.series] for one in trends],
        {name: [ratio_cell(of.get(name)) for of in ratios] for name in names[: newest or None]},
    )


def _cell(comparison: Comparison, label: str, cost: str) -> Cell:
    row = next((one for one in comparison.rows if one.label == label), None)
    if row is None:
        return NOTHING
    disturbed = DISTURBED_MARK if comparison.is_disturbed else ""
    if cost == "steady" and row.judged_by != "steady":
        return ratio_cell(row.judged, TOTAL_MARK + disturbed)
    return ratio_cell(row.ratios.get(cost), disturbed)


def _matrix(
    metric: Metric,
    relative: str,
    headings: Sequence[Heading],
    rows: Mapping[str, Sequence[Cell]],
    notes: tuple[str, ...] = (),
) -> Table:
    return Table(
        title=f"{metric.heading}, {relative}",
        header=(Heading("revision"), *headings),
        rows=tuple(
            (Cell(text=label, sort=number), *cells)
            for number, (label, cells) in enumerate(rows.items())
        ),
        notes=notes,
    )

"""What all scenarios say of all revisions, in one coloured table for each cost."""

from collections.abc import Mapping, Sequence

from waitbench.analysis.entries import Entry
from waitbench.analysis.history import Trend
from waitbench.analysis.statistics import Comparison, Estimate
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.series import Series
from waitbench.reporting.page.figures import NOTHING, ratio_cell
from waitbench.reporting.page.parts import Cell, Heading, Table

COSTS = ("steady", "cpu", "system", "real")
"""What there is a matrix of, the one that is looked at first before the others."""


def of_comparisons(
    comparisons: Sequence[Comparison], anchors: Mapping[str, str]
) -> tuple[Table, ...]:
    """Candidates by scenarios, relative to the baseline. ``anchors`` are sections by scenario."""
    labels = list(dict.fromkeys(row.label for one in comparisons for row in one.rows[1:]))
    return tuple(
        _matrix(
            BY_NAME[name],
            f"relative to {comparisons[0].baseline.label}",
            [Heading(one.scenario, target=anchors[one.scenario]) for one in comparisons],
            {
                label: [
                    next((row.ratios.get(name) for row in one.rows if row.label == label), None)
                    for one in comparisons
                ]
                for label in labels
            },
        )
        for name in COSTS
        if any(name in row.ratios for one in comparisons for row in one.rows)
    )


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
        {name: [of.get(name) for of in ratios] for name in names[: newest or None]},
    )


def _matrix(
    metric: Metric,
    relative: str,
    headings: Sequence[Heading],
    rows: Mapping[str, Sequence[Estimate | None]],
) -> Table:
    return Table(
        title=f"{metric.heading}, {relative}",
        header=(Heading("revision"), *headings),
        rows=tuple(
            (
                Cell(text=label, sort=number),
                *(ratio_cell(one) if one else NOTHING for one in ratios),
            )
            for number, (label, ratios) in enumerate(rows.items())
        ),
    )

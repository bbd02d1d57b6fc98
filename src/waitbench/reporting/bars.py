"""Comparisons -> bars from zero: the costs of each revision in each scenario."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import BY_NAME, MEMORY, Metric
from waitbench.reporting.document import Bar, BarRow, Bars
from waitbench.reporting.drawing import colours_of
from waitbench.reporting.formats import format_columns

_Columns = Sequence[Mapping[str, Metric]]
"""Costs by their headings; costs of one mapping share a unit, as in the terminal's table."""
_OF_RUNS: _Columns = (
    {title: BY_NAME[title] for title in ("real", "user", "system")} | {"total CPU": BY_NAME["cpu"]},
)
_OF_WAITING: _Columns = (
    {"idle CPU": BY_NAME["idle"]},
    {"wake-ups": BY_NAME["wakeups"]},
    {"lateness p99": BY_NAME["latency"]},
    {"memory": MEMORY},
)
"""Of workers that run until they are stopped: the time that they run means nothing."""


def compose(comparisons: Sequence[Comparison], basis: str = "") -> Bars:
    waits = any(MEMORY in comparison.record.metrics for comparison in comparisons)
    labels = tuple(comparisons[0].figures) if comparisons else ()
    headings: list[str] = []
    columns: list[list[list[Bar]]] = []
    for group in _OF_WAITING if waits else _OF_RUNS:
        bars = [
            _bar(comparison, label, metric)
            for metric in group.values()
            for comparison in comparisons
            for label in labels
        ]
        (unit,) = {metric.unit for metric in group.values()}
        means = [bar.mean for bar in bars]
        unit, (texts,) = format_columns([means], unit, [means] if waits else [[1.0]])
        labelled = (
            bar._replace(text=bar.text or text) for bar, text in zip(bars, texts, strict=True)
        )
        for title in group:
            column = [[next(labelled) for _ in labels] for _ in comparisons]
            if any(bar.mean is not None for cell in column for bar in cell):
                headings.append(", ".join(filter(None, (title, unit))))
                columns.append(column)
    names = families([comparison.record.scenario for comparison in comparisons])
    return Bars(
        title="What a worker costs while it waits" if waits else "What a run costs",
        note=" · ".join((basis or "bar: mean", "thin line: all runs")),
        colours=colours_of(labels),
        headings=headings,
        rows=[
            BarRow(family, name, cells)
            for (family, name), *cells in zip(names, *columns, strict=True)
        ],
    )


def _bar(comparison: Comparison, label: str, metric: Metric) -> Bar:
    mean = comparison.cost(label, metric.name)
    if mean is None:
        return Bar(label, None, least=0.0, most=0.0, text="not measured")
    runs = [run.metrics.get(metric.key) for run in comparison.record.of(label)]
    values = [value for value in runs if value is not None]
    return Bar(label, mean.value, min(values), max(values))


def families(scenarios: Sequence[str]) -> list[tuple[str, str]]:
    """The first word of each name, if others begin with it, and the rest of the name."""
    parts = [re.split("[-@]", scenario, maxsplit=1) for scenario in scenarios]
    sizes = Counter(first for first, *_ in parts)
    return [
        (first, "".join(rest) or "all at once") if sizes[first] > 1 else ("", scenario)
        for scenario, (first, *rest) in zip(scenarios, parts, strict=True)
    ]

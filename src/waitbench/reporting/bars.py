"""Bars of the costs of each revision in each scenario, from zero."""

from collections.abc import Sequence

from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import BY_NAME, MEMORY, Metric
from waitbench.reporting.document import Bar, BarColumn, Bars
from waitbench.reporting.drawing import colours_of
from waitbench.reporting.formats import format_columns

_OF_RUNS = {title: BY_NAME[title] for title in ("real", "user", "system")} | {
    "total CPU": BY_NAME["cpu"]
}
_OF_WAITING = {
    "idle CPU": BY_NAME["idle"],
    "wake-ups": BY_NAME["wakeups"],
    "lateness p99": BY_NAME["latency"],
    "memory": BY_NAME["memory"],
}
"""Costs of workers that run until they are stopped, so that their real time means nothing."""


def compose(comparisons: Sequence[Comparison], basis: str = "") -> Bars:
    waits = any(MEMORY in comparison.record.metrics for comparison in comparisons)
    labels = tuple(comparisons[0].figures) if comparisons else ()
    columns = []
    for title, metric in (_OF_WAITING if waits else _OF_RUNS).items():
        cells = [[_bar(it, label, metric) for label in labels] for it in comparisons]
        means = [[bar.mean for bar in cell] for cell in cells]
        # Costs that add up to total CPU are all in seconds, as in the terminal's table.
        unit, texts = format_columns(means, metric.unit, means if waits else [[1.0]])
        for cell, row in zip(cells, texts, strict=True):
            pairs = zip(cell, row, strict=True)
            cell[:] = [bar._replace(text=bar.text or text) for bar, text in pairs]
        if any(mean is not None for row in means for mean in row):
            columns.append(BarColumn(", ".join(filter(None, (title, unit))), cells))
    return Bars(
        title="What a worker costs while it waits" if waits else "What a run costs",
        note=" · ".join((basis or "bar: mean", "thin line: all runs")),
        colours=colours_of(labels),
        scenarios=[comparison.record.scenario for comparison in comparisons],
        columns=columns,
    )


def _bar(comparison: Comparison, label: str, metric: Metric) -> Bar:
    mean = comparison.cost(label, metric.name)
    if mean is None:
        return Bar(label, None, least=0.0, most=0.0, text="not measured")
    runs = [run.metrics.get(metric.key) for run in comparison.record.of(label)]
    values = [value for value in runs if value is not None]
    return Bar(label, mean.value, min(values), max(values))

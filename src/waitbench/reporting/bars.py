"""Comparisons -> bars: the costs of each revision in each scenario, from zero."""

from collections.abc import Mapping, Sequence

from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import BY_NAME, MEMORY, Metric
from waitbench.reporting.document import Bar, BarRow, Bars
from waitbench.reporting.drawing import colours_of, families
from waitbench.reporting.formats import format_columns

_Columns = Sequence[Mapping[str, Metric]]
"""Costs by their headings; those that stand together have the unit of the terminal's table."""
_OF_RUNS: _Columns = (
    {
        "real": BY_NAME["real"],
        "user": BY_NAME["user"],
        "system": BY_NAME["system"],
        "total CPU": BY_NAME["cpu"],
    },
)
_OF_WAITING: _Columns = (
    {"idle CPU": BY_NAME["idle"]},
    {"wake-ups": BY_NAME["wakeups"]},
    {"lateness p99": BY_NAME["latency"]},
    {"memory": MEMORY},
)
"""Of workers that are told to end: how long a run of one lasts says nothing of it."""


def of(comparisons: Sequence[Comparison], basis: str = "") -> Bars:
    """A column for each cost that was measured of any revision in any scenario."""
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
        (counted_in,) = {metric.unit for metric in group.values()}
        means = [bar.mean for bar in bars]
        unit, (texts,) = format_columns([means], counted_in, [means] if waits else [[1.0]])
        named = map(_named, bars, texts)
        for title in group:
            column = [[next(named) for _ in labels] for _ in comparisons]
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
    runs = [run.metrics.get(metric.key) for run in comparison.record.of(label)]
    values = [value for value in runs if value is not None]
    if mean is None:
        return Bar(label=label, mean=None, least=0.0, most=0.0)
    return Bar(label=label, mean=mean.value, least=min(values), most=max(values))


def _named(bar: Bar, text: str) -> Bar:
    return bar._replace(text="not measured" if bar.mean is None else text)

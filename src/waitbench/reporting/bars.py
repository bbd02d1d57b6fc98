"""Composes bars of the costs of each revision in each scenario, which begin at zero."""

from collections.abc import Collection, Sequence

from waitbench.analysis.statistics import OF_RUNS, Comparison
from waitbench.model.metrics import Metric
from waitbench.reporting.document import Bar, BarColumn, Bars
from waitbench.reporting.drawing import colours_of
from waitbench.reporting.forest import heading_of
from waitbench.reporting.formats import format_columns


def compose(comparisons: Sequence[Comparison], basis: str = "") -> dict[str, Bars]:
    """The bars of the first screen's metrics, by the names of their charts, where there are any.

    ``costs``: real, user, system and total CPU time; ``waiting``: the costs beside them.
    """
    results = [it for comparison in comparisons for it in comparison.results if it.headline]
    metrics = {it.metric.name: it.metric for it in results}
    of_runs = [metrics[name] for name in OF_RUNS if name in metrics]
    others = [metric for name, metric in metrics.items() if name not in OF_RUNS]
    charts = {
        # Costs that add up to total CPU are all in seconds, as in the terminal's table.
        "costs": _bars("What a run costs", comparisons, of_runs, basis, in_seconds=True),
        "waiting": _bars("What waiting costs", comparisons, others, basis),
    }
    return {name: bars for name, bars in charts.items() if bars.columns}


def _bars(
    title: str,
    comparisons: Sequence[Comparison],
    metrics: Collection[Metric],
    basis: str,
    *,
    in_seconds: bool = False,
) -> Bars:
    names = {metric.name for metric in metrics}
    shown = [
        comparison
        for comparison in comparisons
        if any(it.headline and it.metric.name in names for it in comparison.results)
    ]
    labels = tuple(comparisons[0].figures) if comparisons else ()
    columns = []
    for metric in metrics:
        cells = [[_bar(it, label, metric) for label in labels] for it in shown]
        means = [[bar.mean for bar in cell] for cell in cells]
        unit, texts = format_columns(means, metric.unit, [[1.0]] if in_seconds else means)
        for cell, row in zip(cells, texts, strict=True):
            pairs = zip(cell, row, strict=True)
            cell[:] = [bar._replace(text=bar.text or text) for bar, text in pairs]
        if any(mean is not None for row in means for mean in row):
            columns.append(BarColumn(", ".join(filter(None, (heading_of(metric), unit))), cells))
    return Bars(
        title=title,
        note=" · ".join((basis or "bar: mean", "thin line: all runs")),
        colours=colours_of(labels),
        scenarios=[comparison.record.scenario for comparison in shown],
        columns=columns,
    )


def _bar(comparison: Comparison, label: str, metric: Metric) -> Bar:
    mean = comparison.cost(label, metric.name)
    if mean is None:
        return Bar(label, None, least=0.0, most=0.0, text="not measured")
    runs = [run.metrics.get(metric.key) for run in comparison.record.of(label)]
    values = [value for value in runs if value is not None]
    return Bar(label, mean.value, min(values), max(values))

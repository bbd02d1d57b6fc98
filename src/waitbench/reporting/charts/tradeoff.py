"""CPU against latency: what a revision that waits more cheaply pays for it, at one glance."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.statistics import Comparison, Median, Row, median
from waitbench.reporting.charts import style
from waitbench.reporting.charts.dots import explain

X, Y = "latency", "share"


def has_data(comparison: Comparison) -> bool:
    """Whether items were due over time and some run reported how late they were."""
    return comparison.waits and any(_points(row) for row in comparison.rows)


def draw(comparison: Comparison) -> Figure:
    """Lateness at p99 to the right, CPU per waiting second upwards: both better when smaller."""
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    medians: list[Median] = []
    points: list[tuple[float, float]] = []
    for number, row in enumerate(comparison.rows):
        found = _points(row)
        if found:
            points += found
            medians += _draw_revision(axes, found, number)
    for name, values in zip("xy", zip(*points, strict=True), strict=True):
        style.scale(axes, name, values)
    axes.set_xlabel("lateness of items at p99, milliseconds")
    axes.set_ylabel("CPU seconds per second of waiting, all workers")
    explanation = explain(medians, middle="large mark", interval="arms")
    where = f"{comparison.topology} · lower left is better"
    style.title(figure, axes, comparison.scenario, f"{where}\n{explanation}")
    style.tidy(axes)
    style.legend(figure, [row.label for row in comparison.rows])
    return figure


def _points(row: Row) -> list[tuple[float, float]]:
    """Milliseconds of lateness and CPU per waiting second of each run that has both."""
    return [(run[X] * 1000, run[Y]) for run in row.runs if X in run and Y in run]


def _draw_revision(
    axes: Axes, points: Sequence[tuple[float, float]], number: int
) -> tuple[Median, Median]:
    """Each run small and pale; where the medians meet, a large mark with both intervals."""
    across, up = zip(*points, strict=True)
    x, y = median(across), median(up)
    colour, marker = style.colour(number), style.marker(number)
    axes.scatter(across, up, s=12, color=colour, marker=marker, alpha=0.5)
    axes.errorbar(
        x.value, y.value, xerr=_arms(x), yerr=_arms(y), fmt=marker, markersize=8, color=colour,
        elinewidth=1.2, capsize=2.5,
    )  # fmt: skip
    return x, y


def _arms(found: Median) -> list[list[float]]:
    """Distances below and above, in matplotlib's shape."""
    return [[found.value - found.low], [found.high - found.value]]

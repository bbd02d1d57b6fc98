"""CPU against latency: what who waits more cheaply pays for it, at one glance."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.statistics import CONFIDENCE, Comparison, Estimate, Row
from waitbench.reporting.charts import style
from waitbench.reporting.shortening import shorten
from waitbench.system.streams import printable

X, Y = "latency", "share"
_MOST_CHARACTERS = 28
"""Of a name in the legend."""


def has_data(comparison: Comparison) -> bool:
    """Whether items were due over time and some run reported how late they were."""
    return comparison.record.waits and bool(_having(comparison))


def draw(comparison: Comparison) -> Figure:
    """Lateness at p99 to the right, CPU per waiting second upwards: both better when smaller."""
    having = _having(comparison)
    labels = [row.label for row in having]
    figure = Figure(figsize=(7, 4.8), layout="constrained")
    axes = figure.subplots()
    style.scale(axes, "x", _reach([row.estimates[X] for row in having], 1000))
    style.scale(axes, "y", _reach([row.estimates[Y] for row in having], 1))
    places = [row.label for row in comparison.rows]
    for row in having:
        # matplotlib leaves names out of a legend that begin with an underscore.
        shown = printable(shorten(row.label, _MOST_CHARACTERS)).replace(
            "_", "\N{ZERO WIDTH SPACE}_", 1
        )
        _draw_row(axes, row, places.index(row.label), shown)
    axes.set_xlabel("lateness of items at p99, milliseconds")
    axes.set_ylabel("CPU seconds per second of waiting, all workers")
    lacking = [label for label in places if label not in labels]
    said = f" · no run: {', '.join(lacking)}" if lacking else ""
    where = f"{comparison.record.topology} · lower left is better"
    marks = f"mean with its {CONFIDENCE * 100:.0f} % interval{said}"
    style.title(figure, axes, comparison.scenario, f"{where}\n{marks}")
    style.tidy(axes)
    style.legend_of(figure, axes)
    return figure


def _having(comparison: Comparison) -> list[Row]:
    return [row for row in comparison.rows if {X, Y} <= row.estimates.keys()]


def _reach(found: Sequence[Estimate], factor: float) -> list[float]:
    """What an axis must hold: means, and the ends of their intervals."""
    return [end * factor for one in found for end in (one.value, one.low, one.high) if end]


def _draw_row(axes: Axes, row: Row, place: int, name: str) -> None:
    late, cost = row.estimates[X], row.estimates[Y]
    axes.errorbar(
        late.value * 1000, cost.value, xerr=_arms(late, 1000), yerr=_arms(cost, 1),
        fmt=style.marker(place), markersize=8, color=style.colour(place), elinewidth=1.2,
        capsize=2.5, label=name,
    )  # fmt: skip


def _arms(found: Estimate, factor: float) -> list[list[float]] | None:
    """Distances below and above, in matplotlib's shape."""
    if found.low is None or found.high is None:
        return None
    return [[(found.value - found.low) * factor], [(found.high - found.value) * factor]]

"""CPU against latency: what who waits more cheaply pays for it, at one glance."""

from collections.abc import Iterable, Mapping

from matplotlib.figure import Figure

from waitbench.analysis.results import MetricResult
from waitbench.analysis.statistics import CONFIDENCE, Estimate
from waitbench.model.metrics import BY_NAME
from waitbench.reporting.charts import style
from waitbench.reporting.shortening import shorten
from waitbench.system.streams import printable

X, Y = "latency", "share"
_MOST_CHARACTERS = 28
"""Of a name in the legend."""

Points = Mapping[str, tuple[Estimate, Estimate]]
"""Lateness at p99 and CPU per waiting second, of each revision that has both."""


def points_of(results: Iterable[MetricResult], baseline: str) -> Points:
    """What is drawn of a scenario in which items are due over time; nothing of any other."""
    found: dict[str, dict[str, Estimate | None]] = {baseline: {}}
    for one in results:
        if one.waits and not one.is_point and one.metric.name in (X, Y):
            own = found.setdefault(one.revision, {})
            own[one.metric.name] = one.after
            if one.before is not None:
                found[baseline][one.metric.name] = one.before
    pairs = {label: (of.get(X), of.get(Y)) for label, of in found.items()}
    return {label: (x, y) for label, (x, y) in pairs.items() if x is not None and y is not None}


def draw(title: str, points: Points, labels: Iterable[str]) -> Figure:
    """Lateness to the right, CPU upwards: both better when smaller."""
    figure = Figure(figsize=(7, 4.8), layout="constrained")
    axes = figure.subplots()
    for place, label in enumerate(labels):
        if label in points:
            late, cost = points[label]
            # matplotlib leaves names out of a legend that begin with an underscore.
            name = printable(shorten(label, _MOST_CHARACTERS)).replace(
                "_", "\N{ZERO WIDTH SPACE}_", 1
            )
            axes.errorbar(
                late.value * 1000, cost.value, xerr=_arms(late, 1000), yerr=_arms(cost, 1),
                fmt=style.marker(place), markersize=8, color=style.colour(place), elinewidth=1.2,
                capsize=2.5, label=name,
            )  # fmt: skip
    style.scale(axes, "x", [end * 1000 for late, _ in points.values() for end in _ends(late)])
    style.scale(axes, "y", [end for _, cost in points.values() for end in _ends(cost)])
    axes.set_xlabel(f"{BY_NAME[X].title}, ms")
    axes.set_ylabel(f"{BY_NAME[Y].title}, cores")
    marks = f"lower left is better · mean with its {CONFIDENCE * 100:.0f} % interval"
    style.title(figure, axes, title, marks)
    style.tidy(axes)
    style.legend_of(figure, axes)
    return figure


def _ends(found: Estimate) -> list[float]:
    """What an axis must hold: a mean, and the ends of its interval."""
    return [end for end in (found.value, found.low, found.high) if end]


def _arms(found: Estimate, factor: float) -> list[list[float]] | None:
    """Distances below and above, in matplotlib's shape."""
    if found.low is None or found.high is None:
        return None
    return [[(found.value - found.low) * factor], [(found.high - found.value) * factor]]

"""What waiting costs against a number: means and the line that fits."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.scan import Curve, Scanned
from waitbench.reporting.charts import style
from waitbench.reporting.scan import title
from waitbench.system.streams import printable

NAME_SUFFIX = "-scan"
"""What the chart's file is named with, behind scenario and parameter."""
_STEPS = 60
"""Points of a drawn line."""


def has_data(scanned: Scanned) -> bool:
    """Whether any run says what its workers used while they waited."""
    return any(cost.value > 0 for curve in scanned.curves for cost in curve.costs.values())


def draw(scanned: Scanned) -> Figure:
    """The number to the right, per cent of a core upwards."""
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.subplots()
    for place, curve in enumerate(scanned.curves):
        _draw_curve(axes, place, curve)
    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        style.write_plainly(axis)
    axes.set_xlabel(printable(scanned.parameter))
    axes.set_ylabel("steady CPU, % of a core")
    style.title(figure, axes, title(scanned), "means · bars: 95 % · line: C + N·R, where it fits")
    style.tidy(axes)
    style.legend_of(figure, axes)
    return figure


def _draw_curve(axes: Axes, place: int, curve: Curve) -> None:
    means = {value: cost for value, cost in curve.costs.items() if cost.value > 0}
    if not means:
        return
    colour, shown = style.colour(place), [cost.value * 100 for cost in means.values()]
    # One run has no interval.
    ends = [(cost.low or cost.value, cost.high or cost.value) for cost in means.values()]
    reach = abs(np.transpose(ends) * 100 - shown)
    axes.errorbar(
        [*means], shown, reach, fmt=style.marker(place), markersize=6, elinewidth=1, color=colour,
        label=printable(curve.label),
    )  # fmt: skip
    constant, slope = curve.constant, curve.slope
    if constant is None or slope is None:
        axes.plot([*means], shown, color=colour, linewidth=0.8, linestyle=":")
        return
    values = np.geomspace(min(means), max(means), _STEPS)
    costs = constant.value + slope.value * values
    axes.plot(values[costs > 0], costs[costs > 0] * 100, color=colour, linewidth=1.2)

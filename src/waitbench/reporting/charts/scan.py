"""What waiting costs against a number: runs, means and the line that fits."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.scan import Curve, Line, Scanned
from waitbench.reporting.charts import style
from waitbench.reporting.scan import title
from waitbench.system.streams import printable

NAME_SUFFIX = "-scan"
"""What the chart's file is named with, behind scenario and parameter."""
_STEPS = 60
"""Points of a drawn line."""


def has_data(scanned: Scanned) -> bool:
    """Whether any run says what its workers used while they waited."""
    return any(run > 0 for curve in scanned.curves for point in curve.points for run in point.runs)


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
    style.title(
        figure, axes, title(scanned), "small: run · large: mean · line: C + N·R, where it fits"
    )
    style.tidy(axes)
    style.legend_of(figure, axes)
    return figure


def _draw_curve(axes: Axes, place: int, curve: Curve) -> None:
    colour, marker = style.colour(place), style.marker(place)
    for point in curve.points:
        shown = [run * 100 for run in point.runs if run > 0]
        axes.scatter([point.value] * len(shown), shown, s=8, color=colour, marker=marker, alpha=0.4)
    means = [(p.value, p.cost.value * 100) for p in curve.points if p.cost and p.cost.value > 0]
    if means:
        axes.plot(
            *zip(*means, strict=True), marker, markersize=6, color=colour,
            label=printable(curve.label),
        )  # fmt: skip
    constant, slope = curve.constant, curve.slope
    if constant is None or slope is None:
        if means:
            axes.plot(*zip(*means, strict=True), color=colour, linewidth=0.8, linestyle=":")
        return
    measured = [point.value for point in curve.points if point.cost is not None]
    first, last = measured[0], measured[-1]
    values = [first * (last / first) ** (step / _STEPS) for step in range(_STEPS + 1)]
    line = Line(constant.value, slope.value)
    drawn = [(value, line.at(value) * 100) for value in values if line.at(value) > 0]
    axes.plot(*zip(*drawn, strict=True), color=colour, linewidth=1.2)

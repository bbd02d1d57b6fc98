"""The rows of a forest plot: names to the left, dots with intervals, and what they say."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from waitbench.reporting.charts import style
from waitbench.reporting.document import Dot
from waitbench.reporting.drawing import Axis
from waitbench.reporting.forest import ForestRow
from waitbench.reporting.shortening import shorten
from waitbench.system.streams import printable

_MOST_CHARACTERS = 58
_ROW_INCHES, _BESIDES_INCHES = 0.26, 0.9
_CHANGE, _INTERVAL = 8, 96
"""Points to the right of the axis where a change stands, and its interval."""
_EXPLANATION = "dot and line: ratio and interval · hollow: inconclusive · shaded: within the margin"
_OF_CORES = "per cent of a core: mean and its interval"


def draw(title: str, rows: Sequence[ForestRow], axis: Axis) -> Figure:
    """A row each; an arrow where one lies beyond the axis."""
    figure = Figure(
        figsize=(style.WIDTH, len(rows) * _ROW_INCHES + _BESIDES_INCHES), layout="constrained"
    )
    axes = figure.subplots()
    axes.set(xscale="log", xlim=(axis.low, axis.high), ylim=(len(rows) - 0.5, -0.5))
    is_of_ratios = any(row.dot is not None and row.dot.band for row in rows)
    if is_of_ratios:
        axes.axvline(1, color=style.GREY, linewidth=1)
    for place, row in enumerate(rows):
        if row.dot is not None:
            _draw(axes, place, row.dot, axis)
        _beside(axes, place, _CHANGE, row.change)
        _beside(axes, place, _INTERVAL, row.interval, style.GREY)
    names = [shorten(name, _MOST_CHARACTERS) for name in _names(rows)]
    axes.set_yticks(range(len(rows)), list(map(printable, names)), fontsize=9)
    # As wide as an arrow at the left edge.
    axes.tick_params(axis="y", length=0, pad=9)
    axes.minorticks_off()
    axes.set_xticks([ratio for ratio, _ in axis.ticks], [text for _, text in axis.ticks])
    axes.spines[["left", "top", "right"]].set_visible(False)
    figure.suptitle(printable(title), fontsize=12, fontweight="bold", x=0.01, ha="left")
    figure.supxlabel(
        _EXPLANATION if is_of_ratios else _OF_CORES, fontsize=style.SMALL, color=style.GREY
    )
    return figure


def _names(rows: Sequence[ForestRow]) -> list[str]:
    """What tells rows apart: that is not what all of them share."""
    parts = [(row.place, row.cost, row.label) for row in rows]
    varying = [len(set(of)) > 1 for of in zip(*parts, strict=True)]
    return [
        f"{row.mark} "
        + (
            " · ".join(text for text, varies in zip(own, varying, strict=True) if varies)
            or row.place
        )
        for row, own in zip(rows, parts, strict=True)
    ]


def _draw(axes: Axes, place: int, dot: Dot, axis: Axis) -> None:
    if dot.band is not None:
        low, high = map(axis.clipped, dot.band)
        axes.add_patch(
            Rectangle((low, place - 0.5), high - low, 1, color="#dddddd", linewidth=0, zorder=0)
        )
    colour, ratio = dot.colour or style.GREY, dot.ratio
    if ratio.high is not None:
        ends = [ratio.low or ratio.value, ratio.high]
        axes.plot(ends, [place, place], color=colour, linewidth=2)
    reached = axis.clipped(ratio.value)
    marker = "o" if reached == ratio.value else "<" if ratio.value < reached else ">"
    axes.plot(
        reached, place, marker, markersize=6, color=colour, clip_on=False,
        markerfacecolor="white" if dot.is_open else colour,
    )  # fmt: skip


def _beside(axes: Axes, place: int, points: float, text: str, colour: str = "black") -> None:
    axes.annotate(
        text, (1, place), xycoords=axes.get_yaxis_transform(), xytext=(points, 0),
        textcoords="offset points", va="center", fontsize=9, color=colour, annotation_clip=False,
    )  # fmt: skip

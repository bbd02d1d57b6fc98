"""Forest plots: names to the left, dots with intervals, and their figures to the right."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from waitbench.reporting.document import Cell, Dot, Table, TextCell, text_of
from waitbench.reporting.drawing import TONES, Axis, shorten
from waitbench.reporting.verdict_symbols import MARK_STYLES
from waitbench.system.streams import printable

_GREY = "#555555"
_WIDTH = 8.5
"""Inches: where GitHub shows the chart 830 pixels wide, its smallest text is 10 pixels high."""
_LONGEST_NAME = 64
_ROW_INCHES, _BESIDES_INCHES = 0.24, 0.9
_MARK, _SWATCH = -11, -22
"""Points to the left of the axis, clear of an arrow there: a mark, and the colour of a revision."""
_POINTS = (8, 96, 180)
"""To the right of the axis: a change, its interval, and how late items were."""
_DRAWN = ("change", "estimate", "95 %", "certainly", "% core", "late")
"""The columns to the right of the axis."""
_EXPLANATION = "dot and line: ratio and interval · hollow: inconclusive · shaded: within the margin"
_OF_CORES = "per cent of a core: mean and its interval"


class _Line(NamedTuple):
    name: str
    mark: str = ""
    style: str = ""
    colour: str = ""
    figures: Sequence[str] = ()
    dot: Cell = ""


def draw(table: Table) -> Figure:
    """A line for each row; a dot beyond the axis is an arrow."""
    (axis,) = (heading.axis for heading in table.headings if heading.axis)
    lines = _lines(table)
    figure = Figure(
        figsize=(_WIDTH, len(lines) * _ROW_INCHES + _BESIDES_INCHES), layout="constrained"
    )
    axes = figure.subplots()
    axes.set(xscale="log", xlim=(axis.low, axis.high), ylim=(len(lines) - 0.5, -0.5))
    if axis.is_of_ratios:
        axes.axvline(1, color=_GREY, linewidth=1)
    for place, line in enumerate(lines):
        tone = _tone(line.style) if line.style else "black"
        _beside(axes, 0, place, _MARK, line.mark, tone)
        _beside(axes, 0, place, _SWATCH, "■" if line.colour else "", line.colour or _GREY)
        for points, text, colour in zip(_POINTS, line.figures, (tone, _GREY, _GREY), strict=False):
            _beside(axes, 1, place, points, text, colour)
        if isinstance(line.dot, Dot):
            _draw(axes, place, line.dot, axis)
    names = [printable(shorten(line.name, _LONGEST_NAME)) for line in lines]
    axes.set_yticks(range(len(lines)), names, fontsize=9)
    has_swatches = any(line.colour for line in lines)
    axes.tick_params(axis="y", length=0, pad=-(_SWATCH if has_swatches else _MARK) + 5)
    axes.minorticks_off()
    axes.set_xticks([ratio for ratio, _ in axis.ticks], [text for _, text in axis.ticks])
    axes.spines[["left", "top", "right"]].set_visible(False)
    figure.suptitle(printable(table.title), fontsize=12, fontweight="bold", x=0.01, ha="left")
    explanation = _EXPLANATION if axis.is_of_ratios else _OF_CORES
    figure.supxlabel(explanation, fontsize=8, color=_GREY)
    return figure


def _lines(table: Table) -> list[_Line]:
    lines: list[_Line] = []
    for group, rows in table.grouped_rows.items():
        lines += [_Line(group)] if group else []
        lines += [_line(table, row) for row in rows]
    return lines


def _line(table: Table, row: Sequence[Cell]) -> _Line:
    cells = [*zip(table.headings, row, strict=True)]
    names = [cell for heading, cell in cells if heading.is_left and not heading.axis]
    texts = [name for name in names if isinstance(name, TextCell)]
    mark = "".join(text.mark for text in texts)
    return _Line(
        name=" · ".join(name if isinstance(name, str) else name.text for name in names),
        mark=mark,
        style=MARK_STYLES.get(mark, ""),
        colour="".join(text.colour for text in texts),
        figures=[text_of(cell) for heading, cell in cells if heading.text in _DRAWN],
        dot=next(cell for heading, cell in cells if heading.axis),
    )


def _tone(style: str) -> str:
    return TONES.get(style.rpartition(" ")[2], _GREY)


def _draw(axes: Axes, place: int, dot: Dot, axis: Axis) -> None:
    if dot.band is not None:
        low, high = map(axis.clipped, dot.band)
        axes.add_patch(
            Rectangle((low, place - 0.5), high - low, 1, color="#dddddd", linewidth=0, zorder=0)
        )
    colour, ratio = dot.colour or _tone(dot.style), dot.ratio
    if ratio.high is not None:
        ends = [ratio.low or ratio.value, ratio.high]
        axes.plot(ends, [place, place], color=colour, linewidth=2)
    reached = axis.clipped(ratio.value)
    marker = "o" if reached == ratio.value else "<" if ratio.value < reached else ">"
    axes.plot(
        reached, place, marker, markersize=6, color=colour, clip_on=False,
        markerfacecolor="white" if dot.is_open else colour,
    )  # fmt: skip


def _beside(axes: Axes, edge: int, place: int, points: float, text: str, colour: str) -> None:
    """Writes so many points from the left edge of the axis, 0, or the right one, 1."""
    if not text:
        return
    axes.annotate(
        text, (edge, place), xycoords=axes.get_yaxis_transform(), xytext=(points, 0),
        textcoords="offset points", ha="left" if edge else "center", va="center", fontsize=9,
        color=colour, annotation_clip=False,
    )  # fmt: skip

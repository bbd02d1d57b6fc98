"""Bars as a picture: a cell for each cost in each scenario, with a bar for each revision."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.reporting.document import Bars
from waitbench.reporting.drawing import shorten
from waitbench.system.streams import printable

# All lengths are in inches, as the axes are.
_WIDTH, _NAMES, _MARGIN = 9.5, 1.85, 0.12
"""Of the picture, of scenario names, and to the left of everything."""
_HEAD, _LINE = 0.75, 0.24
"""Above the legend, and from line to line."""
_BAR, _THIN_BAR, _MANY = 0.17, 0.145, 4
"""From bar to bar, from ``_MANY`` revisions on the thin one."""
_BETWEEN = 0.13
_CHARACTER, _SWATCH = 0.085, 0.3
"""Widths in a legend: of a letter at most, and of a coloured square."""
_REACH = 0.7
"""The share of a column that its longest bar takes: the value is behind it."""
_LONGEST_NAME, _LONGEST_LABEL = 21, 32
_DARK, _GREY, _LIGHT = "#222222", "#555555", "#b0b0b0"


def draw(bars: Bars) -> Figure:
    """A row of cells for each scenario, below the name of its family."""
    labels = [printable(shorten(label, _LONGEST_LABEL)) for label in bars.colours]
    pitch = _BAR if len(labels) < _MANY else _THIN_BAR
    legend_width = _SWATCH + _CHARACTER * max(map(len, labels))
    in_line = max(1, int((_WIDTH - _MARGIN) / legend_width))
    heading = _HEAD + _LINE * -(-len(labels) // in_line)
    tops, families = list[float](), dict[str, float]()
    bottom = heading + _LINE / 2
    for row in bars.rows:
        if row.family and row.family not in families:
            # The first stands beside the headings.
            bottom += _LINE if tops else 0.0
            families[row.family] = bottom - _LINE / 2
        tops.append(bottom)
        bottom += pitch * len(labels) + _BETWEEN
    figure = Figure(figsize=(_WIDTH, bottom))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, _WIDTH), ylim=(bottom, 0))
    axes.set_axis_off()
    _write(axes, _MARGIN, 0.22, bars.title, fontsize=13, weight="bold")
    _write(axes, _MARGIN, 0.47, bars.note, color=_GREY)
    for number, (label, colour) in enumerate(zip(labels, bars.colours.values(), strict=True)):
        line, place = divmod(number, in_line)
        x, y = _MARGIN + place * legend_width, _HEAD + line * _LINE
        axes.barh(y, 0.13, 0.13, left=x, color=colour)
        _write(axes, x + 0.2, y, label, fontsize=9)
    for family, y in families.items():
        _write(axes, _MARGIN, y, family, fontsize=9, weight="bold")
    for row, top in zip(bars.rows, tops, strict=True):
        name, y = shorten(row.name, _LONGEST_NAME), top + pitch * len(labels) / 2
        _write(axes, _NAMES - 0.08, y, name, fontsize=9, ha="right")
    width = (_WIDTH - _NAMES) / len(bars.headings)
    for place, (title, reach) in enumerate(zip(bars.headings, bars.reaches, strict=True)):
        left = _NAMES + place * width
        _write(axes, left, heading, title, fontsize=9, weight="bold")
        scale = width * _REACH / (reach or 1.0)
        cells = [
            (top + pitch * (number + 0.5), bar)
            for row, top in zip(bars.rows, tops, strict=True)
            for number, bar in enumerate(row.cells[place])
        ]
        ys, widths = [y for y, _ in cells], [(bar.mean or 0.0) * scale for _, bar in cells]
        colours = [bars.colours[bar.label] for _, bar in cells]
        axes.barh(ys, widths, pitch * 0.86, left=left, color=colours)
        ends = [[left + end * scale for end in (bar.least, bar.most)] for _, bar in cells]
        axes.hlines(ys, *zip(*ends, strict=True), color=_DARK, linewidth=0.8)
        bottoms = [top + pitch * len(labels) for top in tops]
        axes.vlines([left] * len(tops), tops, bottoms, _LIGHT, linewidth=0.8)
        for (y, bar), (_, end) in zip(cells, ends, strict=True):
            _write(axes, end + 0.06, y, bar.text, color=_GREY if bar.mean is None else _DARK)
    return figure


def _write(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    style = {"fontsize": 8, "color": _DARK, "va": "center_baseline", **style}
    axes.text(x, y, printable(text), **style)

"""Charts of tables and bars, as PNG files. Needs no display."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from waitbench.analysis.results import by_urgency
from waitbench.model.errors import sanitize
from waitbench.reporting import bars
from waitbench.reporting.document import Bars, Cell, Dot, Heading, Table, TextCell, text_of
from waitbench.reporting.drawing import MARK_STYLES, TONES, Axis, shorten
from waitbench.reporting.findings import Findings, gate_table, result_table
from waitbench.system.files import write_with

matplotlib.use("Agg")
# A dollar sign in a label is not mathematics.
matplotlib.rcParams["text.parse_math"] = False
_DARK, _GREY = "#222222", "#555555"

# Sizes of tables, in inches and points. On GitHub, where a chart is 830 pixels wide, its smallest
# text is 10 pixels high.
_WIDTH, _ROW_HEIGHT, _FRAME_HEIGHT = 8.5, 0.24, 0.9
_LONGEST_NAME = 64
_MARK_OFFSET, _SWATCH_OFFSET = -11, -22
"""Points from the left end of the axis, and of arrows there, to a mark and a revision's colour."""
_FIGURE_OFFSETS = (8, 96, 180)
"""Points from the right end of the axis to the texts of the columns in ``_FIGURE_HEADINGS``."""
_FIGURE_HEADINGS = ("change", "estimate", "95 %", "certainly", "% core", "late")
_EXPLANATION = "dot and line: ratio and interval · hollow: inconclusive · shaded: within the margin"
_EXPLANATION_OF_CORES = "per cent of a core: mean and its interval"

# Sizes of bars, in inches.
_BARS_WIDTH, _BARS_FRAME, _LEGEND_LINE = 9.5, 1.1, 0.2
_BAR, _LEAST_ROW = 0.16, 0.4
"""The height of a bar, and the least height of a scenario."""
_BARS_HEIGHT = 0.76
"""The share of a scenario's height that its bars take."""
_LABELS_IN_LEGEND_LINE = 3
"""Revisions in a line of the legend."""
_LONGEST_NAME_OF_BARS, _LONGEST_LABEL = 34, 32


def draw_all(findings: Findings) -> list[Path]:
    """Writes every chart that there is data for. Returns the files.

    ``costs`` and ``waiting``: bars from zero; ``overview``: the judged ratios of each scenario to
    the baseline; ``gate``: the questions of the gate; and the charts of features. Raises
    ``HarnessError`` when the disk refuses.
    """
    of_costs = bars.compose(findings.comparisons, findings.basis)
    figures = {name: draw_bars(columns) for name, columns in of_costs.items()}
    if any(result.ratio is not None for result in findings.main):
        figures["overview"] = draw_table(result_table(findings, findings.main, findings.title))
    if findings.judgements:
        title = f"The gate: {findings.notes[0].text.partition(':')[0].lower()}"
        judgements = by_urgency(findings.judgements)
        figures["gate"] = draw_table(gate_table(findings, judgements, title))
    for contribution in findings.contributions:
        figures |= {name: draw_table(table) for name, table in contribution.charts.items()}
    return [save(figure, findings.folder, name) for name, figure in figures.items()]


def save(figure: Figure, folder: Path, name: str) -> Path:
    """Writes one chart. Raises ``HarnessError`` when the disk refuses."""
    path = folder / f"{name}.png"
    # Without the version of matplotlib in the file, equal figures give equal files.
    metadata = {"Software": None}
    write_with(path, lambda part: figure.savefig(part, format="png", dpi=150, metadata=metadata))
    return path


def draw_table(table: Table) -> Figure:
    """Draws names to the left, dots with intervals on the table's axis, and figures to the right.

    The table has one column of dots. The name of each group is above its rows.
    """
    (axis,) = (heading.axis for heading in table.headings if heading.axis)
    lines: list[tuple[str, Sequence[Cell]]] = []
    for group, rows in table.grouped_rows.items():
        lines += [(group, ())] if group else []
        lines += [(_name(table.headings, row), row) for row in rows]
    height = len(lines) * _ROW_HEIGHT + _FRAME_HEIGHT
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.set(xscale="log", xlim=(axis.low, axis.high), ylim=(len(lines) - 0.5, -0.5))
    if axis.is_of_ratios:
        axes.axvline(1, color=_GREY, linewidth=1)
    has_swatches = False
    for y, (_, row) in enumerate(lines):
        figures = []
        for heading, cell in zip(table.headings, row, strict=False):
            if isinstance(cell, Dot):
                _draw_dot(axes, y, cell, axis)
            elif heading.text in _FIGURE_HEADINGS:
                figures.append(cell)
            elif isinstance(cell, TextCell):
                has_swatches |= bool(cell.colour)
                _annotate(
                    axes, 0, y, _MARK_OFFSET, cell.mark, _tone(MARK_STYLES.get(cell.mark, ""))
                )
                _annotate(axes, 0, y, _SWATCH_OFFSET, "■" if cell.colour else "", cell.colour)
        for points, cell in zip(_FIGURE_OFFSETS, figures, strict=False):
            style = cell.style if isinstance(cell, TextCell) else ""
            is_first = points == _FIGURE_OFFSETS[0]
            colour = _tone(style) if style else "black" if is_first else _GREY
            _annotate(axes, 1, y, points, text_of(cell), colour)
    names = [sanitize(shorten(name, _LONGEST_NAME)) for name, _ in lines]
    axes.set_yticks(range(len(lines)), names, fontsize=9)
    axes.tick_params(
        axis="y", length=0, pad=-(_SWATCH_OFFSET if has_swatches else _MARK_OFFSET) + 5
    )
    axes.minorticks_off()
    axes.set_xticks([value for value, _ in axis.ticks], [text for _, text in axis.ticks])
    axes.spines[["left", "top", "right"]].set_visible(False)
    figure.suptitle(sanitize(table.title), fontsize=12, fontweight="bold", x=0.01, ha="left")
    explanation = _EXPLANATION if axis.is_of_ratios else _EXPLANATION_OF_CORES
    figure.supxlabel(explanation, fontsize=8, color=_GREY)
    return figure


def _name(headings: Sequence[Heading], row: Sequence[Cell]) -> str:
    names = [
        cell.text if isinstance(cell, TextCell) else text_of(cell)
        for heading, cell in zip(headings, row, strict=True)
        if heading.is_left and not heading.axis
    ]
    return " · ".join(names)


def _tone(style: str) -> str:
    """The colour of a style such as "bold red", by its last word."""
    return TONES.get(style.rpartition(" ")[2], _GREY)


def _draw_dot(axes: Axes, y: int, dot: Dot, axis: Axis) -> None:
    """Draws a margin, an interval and a value, or an arrow for a value beyond the axis."""
    mark = dot.on(axis)
    if mark.band is not None:
        low, high = mark.band
        band = Rectangle((low, y - 0.5), high - low, 1, color="#dddddd", linewidth=0, zorder=0)
        axes.add_patch(band)
    colour = dot.colour or _tone(dot.style)
    if mark.interval is not None:
        axes.plot(mark.interval, [y, y], color=colour, linewidth=2)
    fill = "white" if dot.is_open else colour
    marker = {-1: "<", 0: "o", 1: ">"}[mark.beyond]
    axes.plot(
        mark.value, y, marker, markersize=6, color=colour, clip_on=False, markerfacecolor=fill
    )


def _annotate(axes: Axes, edge: int, y: int, points: float, text: str, colour: str) -> None:
    """Writes a text at a distance in points from the left end of the axis (0) or the right (1)."""
    if text:
        axes.annotate(
            text, (edge, y), xycoords=axes.get_yaxis_transform(), xytext=(points, 0),
            textcoords="offset points", ha="left" if edge else "center", va="center", fontsize=9,
            color=colour, annotation_clip=False,
        )  # fmt: skip


def draw_bars(bars_shown: Bars) -> Figure:
    """Draws a column for each cost, with a bar of each revision in each scenario."""
    rows, thickness = range(len(bars_shown.scenarios)), _BARS_HEIGHT / len(bars_shown.colours)
    height = len(rows) * max(_LEAST_ROW, _BAR * (len(bars_shown.colours) + 1))
    height += _BARS_FRAME + _LEGEND_LINE * len(bars_shown.colours) / _LABELS_IN_LEGEND_LINE
    figure = Figure(figsize=(_BARS_WIDTH, height), layout="constrained")
    all_axes = figure.subplots(1, len(bars_shown.columns), sharey=True, squeeze=False)[0]
    for axes, column in zip(all_axes, bars_shown.columns, strict=True):
        axes.set_title(column.heading, loc="left", fontsize=9, fontweight="bold")
        axes.set(xlim=(0, 1 / column.scale), ylim=(len(rows) - 0.5, -0.5))
        for number, (label, colour) in enumerate(bars_shown.colours.items()):
            # The zero-width space: a legend leaves out names that begin with an underscore.
            name = f"\u200b{sanitize(shorten(label, _LONGEST_LABEL))}"
            bars_of_label = [cell[number] for cell in column.cells]
            means = [bar.mean or 0.0 for bar in bars_of_label]
            centres = [row - _BARS_HEIGHT / 2 + (number + 0.5) * thickness for row in rows]
            axes.barh(centres, means, thickness * 0.86, color=colour, label=name)
            for centre, bar in zip(centres, bars_of_label, strict=True):
                axes.hlines(centre, bar.least, bar.most, color=_DARK, linewidth=0.8)
                axes.annotate(
                    bar.text, (bar.most, centre), xytext=(4, 0), textcoords="offset points",
                    va="center_baseline", fontsize=8, color=_GREY if bar.mean is None else _DARK,
                )  # fmt: skip
        axes.xaxis.set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
    names = [sanitize(shorten(name, _LONGEST_NAME_OF_BARS)) for name in bars_shown.scenarios]
    all_axes[0].set_yticks(rows, names, fontsize=9)
    figure.suptitle(bars_shown.title, fontsize=13, fontweight="bold", x=0.01, ha="left")
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower left", ncols=_LABELS_IN_LEGEND_LINE, fontsize=9,
        frameon=False, title=sanitize(bars_shown.note), title_fontsize=8, alignment="left",
    )  # fmt: skip
    return figure

"""What runs cost, a row a revision: one chart a scenario, and an overview of what is judged."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.statistics import CONFIDENCE, Comparison, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.reporting.answer import MARKS
from waitbench.reporting.charts import style
from waitbench.reporting.drawing import Look
from waitbench.reporting.formats import (
    format_change,
    format_count,
    format_range,
    format_value,
)
from waitbench.reporting.shortening import shorten_apart

COSTS = ("steady", "cpu", "user", "system", "real")
"""The panels of a scenario, what is judged first."""
_FEW_COSTS = ("steady", "system", "real")
_MOST_WITH_ALL = 6
"""With more revisions than this, only the few: else the chart is longer than a screen."""

_FAR_APART = 10
"""Bars that differ by more than this factor have a logarithmic scale: else one is a line."""
_VERY_FAR = 80
"""Where names are long, there is room for few figures at a scale."""
_MOST_CHARACTERS = 34
_ROW_INCHES = 0.27
_PANEL_INCHES = 0.62
"""What a panel takes besides its rows: its title, and the figures at its scale."""
_BAR = 0.74
"""The height of a bar, as a share of its row."""
_SPREAD = 0.5
"""The share of a row over which its dots are spread, in order of rounds: a drift shows."""
_VALUE, _CHANGE = 6, 66
"""Points to the right of the panel where the value stands, and what it says."""

Looks = Mapping[str, Look]


def draw(comparison: Comparison, looks: Looks) -> Figure:
    """A panel for each cost of a scenario: what is judged first, then the whole run."""
    wanted = COSTS if len(comparison.rows) <= _MOST_WITH_ALL else _FEW_COSTS
    shown = [name for name in wanted if any(name in row.estimates for row in comparison.rows)]
    panels = [(comparison, name, BY_NAME[name].heading) for name in shown or ("cpu",)]
    figure, grid = _sheet(panels)
    for axes, (of, name, title) in zip(grid, panels, strict=True):
        _draw_panel(axes, of, BY_NAME[name], title, looks)
    _head(figure, comparison.scenario, [comparison])
    return figure


def draw_overview(comparisons: Sequence[Comparison], looks: Looks) -> Figure:
    """A panel for each scenario, of the cost that is judged there."""
    panels = [(one, judged_of(one), one.scenario) for one in comparisons]
    figure, grid = _sheet(panels)
    names = {name for _, name, _ in panels}
    for axes, (of, name, title) in zip(grid, panels, strict=True):
        also = f", {BY_NAME[name].title}" if len(names) > 1 else ""
        _draw_panel(axes, of, BY_NAME[name], f"{title}{also}", looks)
    heading = BY_NAME[names.pop()].heading if len(names) == 1 else "CPU"
    _head(figure, f"{heading}, by scenario", comparisons)
    return figure


def judged_of(comparison: Comparison) -> str:
    """The name of the cost that verdicts are of: steady CPU where any revision is judged by it."""
    candidates = [row for row in comparison.rows[1:] if row.judged is not None]
    if candidates:
        return "steady" if any(row.judged_by == "steady" for row in candidates) else "cpu"
    return "steady" if any("steady" in row.estimates for row in comparison.rows) else "cpu"


def _sheet(panels: Sequence[tuple[Comparison, str, str]]) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each, as high as its rows."""
    heights = [len(of.rows) * _ROW_INCHES + _PANEL_INCHES for of, _, _ in panels]
    figure = Figure(figsize=(style.WIDTH, sum(heights) + 0.75), layout="constrained")
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
    return figure, [axes for (axes,) in grid]


def _head(figure: Figure, heading: str, comparisons: Sequence[Comparison]) -> None:
    """What is shown; and what its marks mean, in a line below."""
    figure.suptitle(heading, fontsize=13, fontweight="bold", x=0.01, ha="left")
    has_runs = any(row.runs for one in comparisons for row in one.rows)
    has_interval = any(
        found.low is not None
        for one in comparisons
        for row in one.rows
        for found in row.estimates.values()
    )
    marks = ["bar: mean", "dot: run"] if has_runs else ["no run gave a measurement"]
    if has_interval:
        marks.append(f"arms and brackets: {CONFIDENCE * 100:.0f} % interval")
    figure.supxlabel(
        f"{_subtitle(comparisons)} · {' · '.join(marks)}", fontsize=9, color=style.GREY
    )


def _draw_panel(
    axes: Axes, comparison: Comparison, metric: Metric, title: str, looks: Looks
) -> None:
    rows = comparison.rows
    is_log = _set_scale(axes, rows, metric)
    for place, row in enumerate(rows):
        if metric.name not in row.estimates:
            _say_no_run(axes, place)
            continue
        _draw_row(axes, place, row, metric, looks[row.label])
        _write(axes, place, row, metric)
    axes.set_yticks(
        range(len(rows)),
        shorten_apart([row.label for row in rows], _MOST_CHARACTERS),
        fontsize=9,
    )
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=style.SMALL)
    axes.set_title(title, fontsize=10, fontweight="bold", loc="left")
    unit = {"second": "seconds"}.get(metric.unit, metric.unit)
    # Above the figures: beside the title there may be no room.
    axes.set_title(
        f"{unit}{', log scale' if is_log else ''}", fontsize=style.SMALL, color=style.GREY,
        loc="right", x=1.02, ha="left",
    )  # fmt: skip
    style.tidy(axes)
    axes.grid(visible=False, axis="y")


def _set_scale(axes: Axes, rows: Sequence[Row], metric: Metric) -> bool:
    """From 0 on; or logarithmic, where bars differ by more than a factor of ten."""
    means = [row.estimates[metric.name].value for row in rows if metric.name in row.estimates]
    values = [value for row in rows for value in row.values(metric.name)]
    most = max((*values, *(_high(row, metric) for row in rows)), default=0)
    if means and min(values) > 0 and max(means) / min(means) > _FAR_APART:
        style.log_scale(axes, "x", min(values) / 2, most * 1.15, _VERY_FAR)
        return True
    axes.set_xlim(0, most * 1.04 or 1)
    return False


def _high(row: Row, metric: Metric) -> float:
    found = row.estimates.get(metric.name)
    return 0.0 if found is None else found.high or found.value


def _draw_row(axes: Axes, place: int, row: Row, metric: Metric, look: Look) -> None:
    """A pale bar to the mean, a mark at it with the arms of its interval, and a dot a run."""
    values, found = row.values(metric.name), row.estimates[metric.name]
    start, _ = axes.get_xlim()
    axes.barh(place, found.value - start, _BAR, left=start, color=look.colour, alpha=0.3)
    axes.vlines(found.value, place - _BAR / 2, place + _BAR / 2, color=look.colour, linewidth=2)
    if found.low is not None and found.high is not None:
        low = max(found.low, start)
        axes.plot([low, found.high], [place, place], color=style.GREY, linewidth=1, zorder=2)
        for end in {low, found.high} - {start}:
            axes.plot([end, end], [place - 0.12, place + 0.12], color=style.GREY, linewidth=1)
    step = _SPREAD / len(values)
    places = [place + step * (run - (len(values) - 1) / 2) for run in range(len(values))]
    axes.scatter(
        values, places, s=13, color=look.colour, marker=style.marker(look), edgecolors="white",
        linewidths=0.4, zorder=3, clip_on=False,
    )  # fmt: skip


def _write(axes: Axes, place: int, row: Row, metric: Metric) -> None:
    """The mean beside the row; and how it compares to the baseline, with the interval."""
    _beside(axes, place, _VALUE, format_value(row.estimates[metric.name].value, metric))
    ratio = row.ratios.get(metric.name)
    if ratio is None:
        return
    said = f"{MARKS[ratio.verdict]} {format_change(ratio)}"
    interval = format_range(ratio)
    _beside(
        axes,
        place,
        _CHANGE,
        f"{said} [{interval}]" if interval else said,
        colour=style.GREY if ratio.verdict is Verdict.INCONCLUSIVE else "black",
    )


def _beside(axes: Axes, place: int, points: float, text: str, colour: str = "black") -> None:
    axes.annotate(
        text, (1, place), xycoords=axes.get_yaxis_transform(), xytext=(points, 0),
        textcoords="offset points", va="center", fontsize=9, color=colour, annotation_clip=False,
    )  # fmt: skip


def _say_no_run(axes: Axes, place: int) -> None:
    axes.annotate(
        "no run", (0, place), xycoords=axes.get_yaxis_transform(), xytext=(4, 0),
        textcoords="offset points", va="center", fontsize=style.SMALL, color=style.RED,
    )  # fmt: skip


def _subtitle(comparisons: Sequence[Comparison]) -> str:
    mixed = " · MIXED ORIGINS" if comparisons[0].mixed_origins else ""
    return f"{comparisons[0].topology} · {_rounds(comparisons)}{mixed}"


def _rounds(comparisons: Sequence[Comparison]) -> str:
    counts = [comparison.rounds for comparison in comparisons]
    fewest, most = min(counts), max(counts)
    return format_count(most, "round", "rounds") if fewest == most else f"{fewest}–{most} rounds"

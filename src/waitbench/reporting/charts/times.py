"""Real, user and system time of every run: one chart a scenario, and an overview of all."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.medians import Median, median
from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import BY_NAME
from waitbench.reporting.charts import style
from waitbench.reporting.formats import format_count

SHOWN = ("real", "user", "system")

_MOST_WITH_VALUES = 6
"""With more revisions than this there is no room to write values over the columns."""
_HEADROOM = 1.13
_VALUE_HEIGHT = 0.1
"""What a written value takes, as a share of the panel's height."""
_SPREAD = 0.6
"""The share of a column over which its dots are spread, in order of rounds: a drift shows."""


def draw(comparison: Comparison) -> Figure:
    """Real, user and system time of each revision, side by side."""
    figure = Figure(figsize=(8, 4.4), layout="constrained")
    axes = figure.subplots()
    medians = _draw_panel(axes, comparison)
    axes.set_ylabel("seconds per run, all processes")
    style.title(
        figure, axes, comparison.scenario, f"{_subtitle([comparison])}\n{style.explain(medians)}"
    )
    style.legend(figure, [row.label for row in comparison.rows])
    return figure


def draw_overview(comparisons: Sequence[Comparison]) -> Figure:
    """All scenarios on one sheet, each with a scale of its own."""
    columns = min(len(comparisons), 2)
    lines = -(-len(comparisons) // columns)
    figure = Figure(figsize=(11, 2.7 * lines + 1), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    medians = []
    for axes, comparison in zip(grid.flat, comparisons, strict=False):
        medians += _draw_panel(axes, comparison)
        axes.set_title(comparison.scenario, fontsize=11, fontweight="bold")
        axes.set_ylabel("seconds")
    for axes in list(grid.flat)[len(comparisons) :]:
        axes.set_visible(False)
    figure.suptitle(
        f"CPU cost of each revision · {_subtitle(comparisons)}\n{style.explain(medians)}",
        fontsize=11,
        color=style.GREY,
    )
    style.legend(figure, [row.label for row in comparisons[0].rows])
    return figure


def _draw_panel(axes: Axes, comparison: Comparison) -> list[Median]:
    rows = comparison.rows
    width = 0.84 / len(rows)
    top = max((value for row in rows for name in SHOWN for value in row.values(name)), default=0)
    limit = top * _HEADROOM or 1
    medians = []
    for number, row in enumerate(rows):
        for group, name in enumerate(SHOWN):
            centre = group + (number - (len(rows) - 1) / 2) * width
            values = row.values(name)
            if not values:
                _say_no_run(axes, centre)
                continue
            found = _draw_column(axes, centre, width * 0.86, values, number)
            medians.append(found)
            if len(rows) <= _MOST_WITH_VALUES:
                place = _first_gap(values, found.value, limit * _VALUE_HEIGHT)
                _write_value(axes, centre, place, found.value, small=len(rows) > 3)
    axes.set_xticks(range(len(SHOWN)), [BY_NAME[name].title for name in SHOWN])
    axes.set_xlim(-0.55, len(SHOWN) - 0.45)
    axes.set_ylim(0, limit)
    style.tidy(axes)
    axes.grid(visible=False, axis="x")
    return medians


def _draw_column(
    axes: Axes, centre: float, width: float, values: Sequence[float], number: int
) -> Median:
    """Draws the runs of one revision above one another, around ``centre``.

    A band from the low to the high end of the interval, a line at the median, a dot a run.
    ``number`` is the revision's place in the comparison. Returns the median.
    """
    found = median(values)
    colour = style.colour(number)
    axes.bar(centre, found.high - found.low, width, bottom=found.low, color=colour, alpha=0.22)
    axes.hlines(found.value, centre - width / 2, centre + width / 2, color=colour, linewidth=2)
    step = width * _SPREAD / len(values)
    places = [centre + step * (run - (len(values) - 1) / 2) for run in range(len(values))]
    axes.scatter(
        places, values, s=14, color=colour, marker=style.marker(number), edgecolors="white",
        linewidths=0.4, zorder=3, clip_on=False,
    )  # fmt: skip
    return found


def _first_gap(values: Sequence[float], start: float, height: float) -> float:
    """The lowest place from ``start`` on with so much room before the next run above it.

    So that the value of a median stands beside it, and not beside a run that is far off.
    """
    place = start
    for value in sorted(values):
        if place <= value < place + height:
            place = value
    return place


def _write_value(axes: Axes, x: float, y: float, value: float, *, small: bool) -> None:
    axes.annotate(
        _short(value), (x, y), xytext=(0, 4), textcoords="offset points", ha="center",
        va="bottom", fontsize=6.5 if small else 8, color="#333333",
    )  # fmt: skip


def _say_no_run(axes: Axes, x: float) -> None:
    axes.annotate(
        "no run", (x, 0), xytext=(0, 3), textcoords="offset points", rotation=90, ha="center",
        va="bottom", fontsize=7, color="#A00000",
    )  # fmt: skip


def _short(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _subtitle(comparisons: Sequence[Comparison]) -> str:
    mixed = " · MIXED ORIGINS" if comparisons[0].mixed_origins else ""
    return f"{comparisons[0].topology} · {_rounds(comparisons)}{mixed}"


def _rounds(comparisons: Sequence[Comparison]) -> str:
    counts = [comparison.rounds for comparison in comparisons]
    fewest, most = min(counts), max(counts)
    return format_count(most, "round", "rounds") if fewest == most else f"{fewest}–{most} rounds"

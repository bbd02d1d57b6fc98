"""Grouped bars of real, user and system time: one chart a scenario, and an overview of all."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.model.metrics import BY_NAME
from waitbench.reporting.charts import style

BARS = ("real", "user", "system")


def draw(comparison: Comparison) -> Figure:
    """Real, user and system time of each revision, side by side, with their intervals."""
    rows = comparison.rows
    height = 4.2 + 0.22 * _legend_rows(rows)
    figure = Figure(figsize=(8, height), layout="constrained")
    axes = figure.subplots()
    _bars(axes, comparison)
    axes.set_ylabel("seconds per run, all processes")
    style.title(figure, axes, comparison.scenario, _subtitle(comparison))
    _legend(figure, axes, rows)
    return figure


def draw_overview(comparisons: Sequence[Comparison]) -> Figure:
    """All scenarios on one sheet, each with a scale of its own."""
    columns = 2 if len(comparisons) > 1 else 1
    lines = -(-len(comparisons) // columns)
    rows = comparisons[0].rows
    figure = Figure(figsize=(11, 2.6 * lines + 0.9 + 0.22 * _legend_rows(rows)), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    for axes, comparison in zip(grid.flat, comparisons, strict=False):
        _bars(axes, comparison, annotate=len(comparison.rows) <= 4)
        axes.set_title(comparison.scenario, fontsize=11, fontweight="bold")
        axes.set_ylabel("seconds")
    for axes in list(grid.flat)[len(comparisons) :]:
        axes.set_visible(False)
    figure.suptitle(f"CPU cost of each revision · {_subtitle(comparisons[0])}", fontsize=11, color="#555555")
    _legend(figure, grid.flat[0], rows)
    return figure


def _bars(axes: Axes, comparison: Comparison, *, annotate: bool = True) -> None:
    rows = comparison.rows
    width = 0.8 / len(rows)
    # An interval far beyond its bar (two rounds of next to nothing) must not squeeze all others.
    ends = [min(_top(e), 1.6 * e.value) for row in rows for name, e in row.estimates.items() if name in BARS]
    limit = max(ends, default=0) * 1.15 or 1
    for number, row in enumerate(rows):
        for group, name in enumerate(BARS):
            centre = group + (number - (len(rows) - 1) / 2) * width
            estimate = row.estimates.get(name)
            if estimate is None:
                axes.text(centre, 0, "no run", rotation=90, ha="center", va="bottom", fontsize=7, color="#A00000")
                continue
            axes.bar(
                centre, estimate.value, width * 0.92, color=style.colour(number), hatch=style.hatch(number),
                edgecolor="white", linewidth=0.5, label=row.label if group == 0 else None,
                yerr=style.error(estimate), error_kw={"elinewidth": 1, "capsize": 2.5, "ecolor": "#333333"},
            )  # fmt: skip
            if annotate and len(rows) <= 6:
                axes.annotate(
                    _short(estimate.value), (centre, min(_top(estimate), limit * 0.94)), xytext=(0, 2),
                    textcoords="offset points", ha="center", va="bottom", fontsize=8 if len(rows) <= 4 else 6.5,
                    color="#333333",
                )  # fmt: skip
    axes.set_xticks(range(len(BARS)), [BY_NAME[name].title for name in BARS])
    axes.set_xlim(-0.55, len(BARS) - 0.45)
    axes.set_ylim(0, limit)
    style.tidy(axes)
    axes.grid(visible=False, axis="x")


def _top(estimate: Estimate) -> float:
    return estimate.high if estimate.high is not None else estimate.value


def _short(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _legend_rows(rows: Sequence[Row]) -> int:
    return -(-len(rows) // 4)


def _legend(figure: Figure, axes: Axes, rows: Sequence[Row]) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(rows), 4), frameon=False)


def _subtitle(comparison: Comparison) -> str:
    rounds = max((e.count for row in comparison.rows for e in row.estimates.values()), default=0)
    mixed = " · MIXED ORIGINS" if comparison.mixed_origins else ""
    return f"{comparison.topology} · {rounds} rounds · means with 95 % intervals{mixed}"

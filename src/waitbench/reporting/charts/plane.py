"""CPU against latency: what who waits more cheaply pays for it, at one glance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.medians import Median, median
from waitbench.analysis.statistics import Comparison
from waitbench.reporting.charts import style
from waitbench.reporting.drawing import Look
from waitbench.reporting.shortening import shorten_apart
from waitbench.system.streams import printable

X, Y = "latency", "share"
_MOST_CHARACTERS = 28
"""Of a name in the legend."""


@dataclass(frozen=True)
class _Runs:
    """The runs of a revision: how late items were, what waiting cost."""

    label: str
    look: Look
    late: Sequence[float]
    cost: Sequence[float]

    @property
    def dots(self) -> list[tuple[float, float]]:
        """A place for each run, where every run has both."""
        paired = len(self.late) == len(self.cost)
        return list(zip(self.late, self.cost, strict=True)) if paired else []

    @property
    def medians(self) -> tuple[Median, Median]:
        """Of lateness, and of what waiting cost."""
        return median(self.late), median(self.cost)


def has_data(comparison: Comparison) -> bool:
    """Whether items were due over time and some run reported how late they were."""
    runs = (run for row in comparison.rows for run in row.runs)
    return comparison.waits and any(X in run and Y in run for run in runs)


def draw(comparison: Comparison, look_of: Mapping[str, Look]) -> Figure:
    """Lateness at p99 to the right, CPU per waiting second upwards: both better when smaller."""
    having = _runs_of(comparison, look_of)
    labels = [runs.label for runs in having]
    missing = [row.label for row in comparison.rows if row.label not in labels]
    figure = Figure(figsize=(7, 4.8), layout="constrained")
    axes = figure.subplots()
    style.scale(axes, "x", [value for runs in having for value in runs.late])
    style.scale(axes, "y", [value for runs in having for value in runs.cost])
    for runs, name in zip(having, shorten_apart(labels, _MOST_CHARACTERS), strict=True):
        # matplotlib leaves names out of a legend that begin with an underscore.
        _draw_runs(axes, runs, printable(name).replace("_", "\N{ZERO WIDTH SPACE}_", 1))
    axes.set_xlabel("lateness of items at p99, milliseconds")
    axes.set_ylabel("CPU seconds per second of waiting, all workers")
    medians = [one for runs in having for one in runs.medians]
    marks = style.explain(medians, middle="large mark", interval="arms")
    lacking = f" · no run: {', '.join(missing)}" if missing else ""
    where = f"{comparison.topology} · lower left is better\n{marks}{lacking}"
    style.title(figure, axes, comparison.scenario, where)
    style.tidy(axes)
    style.legend_of(figure, axes)
    return figure


def _runs_of(comparison: Comparison, look_of: Mapping[str, Look]) -> list[_Runs]:
    """Milliseconds of lateness and CPU per waiting second of each run that has both."""
    found = []
    for row in comparison.rows:
        having = [run for run in row.runs if X in run and Y in run]
        if having:
            found.append(
                _Runs(
                    row.label,
                    look_of[row.label],
                    [run[X] * 1000 for run in having],
                    [run[Y] for run in having],
                )
            )
    return found


def _draw_runs(axes: Axes, runs: _Runs, name: str) -> None:
    """Each run small and pale; where the medians meet, a large mark with both intervals."""
    late, cost = runs.medians
    colour, marker = runs.look.colour, style.marker(runs.look)
    if runs.dots:
        xs, ys = zip(*runs.dots, strict=True)
        axes.scatter(xs, ys, s=12, color=colour, marker=marker, alpha=0.5)
    axes.errorbar(
        late.value, cost.value, xerr=_arms(late), yerr=_arms(cost), fmt=marker, markersize=8,
        color=colour, elinewidth=1.2, capsize=2.5, label=name,
    )  # fmt: skip


def _arms(found: Median) -> list[list[float]]:
    """Distances below and above, in matplotlib's shape."""
    return [[found.value - found.low], [found.high - found.value]]

"""CPU against latency: what who waits more cheaply pays for it, at one glance.

Of the revisions of a scenario; and of engines side by side, the knobs of each as a line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis import side_by_side
from waitbench.analysis.medians import Median, median
from waitbench.analysis.side_by_side import SideBySide
from waitbench.analysis.statistics import Comparison
from waitbench.model.record import RevisionRecord
from waitbench.reporting.charts import style
from waitbench.store.comparisons import Contents

X, Y = "latency", "share"
_LEAST = 1e-3
"""Per cent of a core, and milliseconds, below which nothing is told apart."""


@dataclass(frozen=True)
class _Runs:
    """The runs of a revision, which has this place: how late items were, what waiting cost."""

    place: int
    late: Sequence[float]
    cost: Sequence[float]

    @property
    def medians(self) -> tuple[Median, Median]:
        """Of lateness, and of what waiting cost."""
        return median(self.late), median(self.cost)


def has_data(comparison: Comparison) -> bool:
    """Whether items were due over time and some run reported how late they were."""
    return comparison.waits and bool(_runs_of(comparison))


def draw(comparison: Comparison) -> Figure:
    """Lateness at p99 to the right, CPU per waiting second upwards: both better when smaller."""
    return _draw(
        _runs_of(comparison),
        labels=[row.label for row in comparison.rows],
        title=comparison.scenario,
        where=comparison.topology,
        cost="CPU seconds per second of waiting, all workers",
        size=(7, 5),
    )


def figures(contents: Contents, shown: SideBySide) -> Mapping[str, Figure]:
    """The same of several engines or settings, in per cent of a core; none without any."""
    context = contents.context
    if context is None or not side_by_side.is_shown(context):
        return {}
    having = []
    for place, label in enumerate(context.labels):
        late, share = (
            [max(value, _LEAST) for value in side_by_side.values(one, contents.records, label)]
            for one in (shown.late, shown.share)
        )
        if late and share:
            having.append(_Runs(place, late, share))
    if len(having) < 2:
        return {}
    scenario = side_by_side.record_of(shown.late, contents.records)
    assert scenario is not None, "it has runs"
    partitions, interval = (scenario.parameters.get(one) for one in ("partitions", "interval"))
    figure = _draw(
        having,
        labels=context.labels,
        title="What waiting costs, and how late items are",
        where=f"{context.topology} · {partitions} partitions, an item each per {interval} s",
        cost="CPU while waiting, % of a core",
        size=(8, 5.5),
        lines=_lines(having, context.revisions),
    )
    return {shown.title: figure}


def _runs_of(comparison: Comparison) -> list[_Runs]:
    """Milliseconds of lateness and CPU per waiting second of each run that has both."""
    found = []
    for place, row in enumerate(comparison.rows):
        having = [run for run in row.runs if X in run and Y in run]
        if having:
            found.append(
                _Runs(place, [run[X] * 1000 for run in having], [run[Y] for run in having])
            )
    return found


def _lines(
    having: Sequence[_Runs], revisions: Sequence[RevisionRecord]
) -> list[list[tuple[float, float]]]:
    """What differs in its settings only, from the least late to the latest."""

    def key(runs: _Runs) -> tuple[str, str, tuple[str, ...]]:
        return side_by_side.without_settings(revisions[runs.place])

    return [
        sorted((late.value, cost.value) for late, cost in (runs.medians for runs in group))
        for _, group in groupby(sorted(having, key=key), key=key)
    ]


def _draw(
    having: Sequence[_Runs],
    *,
    labels: Sequence[str],
    title: str,
    where: str,
    cost: str,
    size: tuple[float, float],
    lines: Sequence[Sequence[tuple[float, float]]] = (),
) -> Figure:
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    style.scale(axes, "x", [value for runs in having for value in runs.late])
    style.scale(axes, "y", [value for runs in having for value in runs.cost])
    for line in lines:
        axes.plot(*zip(*line, strict=True), color=style.GREY, linewidth=1, alpha=0.6, zorder=1)
    for runs in having:
        _draw_runs(axes, runs)
    axes.set_xlabel("lateness of items at p99, milliseconds")
    axes.set_ylabel(cost)
    medians = [one for runs in having for one in runs.medians]
    marks = style.explain(medians, middle="large mark", interval="arms")
    settings = " · line: one engine's settings" if lines else ""
    style.title(figure, axes, title, f"{where} · lower left is better\n{marks}{settings}")
    style.tidy(axes)
    style.legend(figure, labels)
    return figure


def _draw_runs(axes: Axes, runs: _Runs) -> None:
    """Each run small and pale; where the medians meet, a large mark with both intervals."""
    late, cost = runs.medians
    colour, marker = style.colour(runs.place), style.marker(runs.place)
    if len(runs.late) == len(runs.cost):
        axes.scatter(runs.late, runs.cost, s=12, color=colour, marker=marker, alpha=0.5)
    axes.errorbar(
        late.value, cost.value, xerr=_arms(late), yerr=_arms(cost), fmt=marker, markersize=8,
        color=colour, elinewidth=1.2, capsize=2.5,
    )  # fmt: skip


def _arms(found: Median) -> list[list[float]]:
    """Distances below and above, in matplotlib's shape."""
    return [[found.value - found.low], [found.high - found.value]]

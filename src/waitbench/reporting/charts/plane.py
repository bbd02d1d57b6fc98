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
from waitbench.reporting.charts.placing import Point, name_points
from waitbench.reporting.drawing import Look, looks
from waitbench.reporting.shortening import shorten_apart
from waitbench.store.comparisons import Contents

X, Y = "latency", "share"
_MOST_CHARACTERS = 28
"""Of a name beside a mark."""
_LEAST = 1e-3
"""Per cent of a core, and milliseconds, below which nothing is told apart."""


@dataclass(frozen=True)
class _Runs:
    """The runs of a revision: how late items were, what waiting cost."""

    label: str
    look: Look
    late: Sequence[float]
    cost: Sequence[float]

    @property
    def dots(self) -> list[Point]:
        """A place for each run, where every run has both."""
        paired = len(self.late) == len(self.cost)
        return list(zip(self.late, self.cost, strict=True)) if paired else []

    @property
    def arms(self) -> list[tuple[Point, Point]]:
        """The lines through its large mark."""
        late, cost = self.medians
        return [
            ((late.low, cost.value), (late.high, cost.value)),
            ((late.value, cost.low), (late.value, cost.high)),
        ]

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
    shown = {runs.label for runs in having}
    missing = [row.label for row in comparison.rows if row.label not in shown]
    return _draw(
        having,
        missing=missing,
        title=comparison.scenario,
        where=comparison.topology,
        cost="CPU seconds per second of waiting, all workers",
        size=(7, 4.8),
    )


def figures(contents: Contents, shown: SideBySide) -> Mapping[str, Figure]:
    """The same of several engines or settings, in per cent of a core; none without any."""
    context = contents.context
    if context is None or not side_by_side.is_shown(context):
        return {}
    look_of = looks(context.labels, {one.label: one.engine or "" for one in context.revisions})
    having = []
    for label in context.labels:
        late, share = (
            [max(value, _LEAST) for value in side_by_side.values(one, contents.records, label)]
            for one in (shown.late, shown.share)
        )
        if late and share:
            having.append(_Runs(label, look_of[label], late, share))
    if len(having) < 2:
        return {}
    scenario = side_by_side.record_of(shown.late, contents.records)
    assert scenario is not None, "it has runs"
    partitions, interval = (scenario.parameters.get(one) for one in ("partitions", "interval"))
    figure = _draw(
        having,
        title="What waiting costs, and how late items are",
        where=f"{context.topology} · {partitions} partitions, an item each per {interval} s",
        cost="CPU while waiting, % of a core",
        size=(8, 5.5),
        lines=_lines(having, context.revisions),
    )
    return {shown.title: figure}


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


def _lines(
    having: Sequence[_Runs], revisions: Sequence[RevisionRecord]
) -> list[list[tuple[float, float]]]:
    """What differs in its settings only, from the least late to the latest."""
    by_label = {one.label: one for one in revisions}

    def key(runs: _Runs) -> tuple[str, str, tuple[str, ...]]:
        return side_by_side.without_settings(by_label[runs.label])

    return [
        sorted((late.value, cost.value) for late, cost in (runs.medians for runs in group))
        for _, group in groupby(sorted(having, key=key), key=key)
    ]


def _draw(
    having: Sequence[_Runs],
    *,
    title: str,
    where: str,
    cost: str,
    size: tuple[float, float],
    missing: Sequence[str] = (),
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
    lacking = f" · no run: {', '.join(missing)}" if missing else ""
    style.title(figure, axes, title, f"{where} · lower left is better\n{marks}{settings}{lacking}")
    style.tidy(axes)
    places = {
        runs.label: (late.value, cost.value) for runs in having for late, cost in [runs.medians]
    }
    names = _names([runs.label for runs in having])
    dots = [dot for runs in having for dot in runs.dots]
    name_points(
        figure,
        axes,
        [(names[runs.label], places[runs.label], style.dark(runs.look.colour)) for runs in having],
        dots,
        [line for runs in having for line in runs.arms],
    )
    return figure


def _draw_runs(axes: Axes, runs: _Runs) -> None:
    """Each run small and pale; where the medians meet, a large mark with both intervals."""
    late, cost = runs.medians
    colour, marker = runs.look.colour, style.marker(runs.look)
    if runs.dots:
        xs, ys = zip(*runs.dots, strict=True)
        axes.scatter(xs, ys, s=12, color=colour, marker=marker, alpha=0.5)
    axes.errorbar(
        late.value, cost.value, xerr=_arms(late), yerr=_arms(cost), fmt=marker, markersize=8,
        color=colour, elinewidth=1.2, capsize=2.5,
    )  # fmt: skip


def _arms(found: Median) -> list[list[float]]:
    """Distances below and above, in matplotlib's shape."""
    return [[found.value - found.low], [found.high - found.value]]


def _names(labels: Sequence[str]) -> dict[str, str]:
    """What stands beside each mark: of what has settings besides another, only these."""
    found = {}
    for label in labels:
        plain = max((one for one in labels if label.startswith(f"{one}+")), key=len, default="")
        found[label] = label[len(plain) :]
    return dict(zip(found, shorten_apart(list(found.values()), _MOST_CHARACTERS), strict=True))

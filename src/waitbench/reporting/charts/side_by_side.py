"""Engines side by side: CPU against lateness, the knobs of each as a line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis import side_by_side
from waitbench.analysis.side_by_side import SideBySide
from waitbench.analysis.statistics import Median, median
from waitbench.model.record import RevisionRecord
from waitbench.reporting.charts import style
from waitbench.reporting.charts.dots import explain
from waitbench.store.comparisons import Contents

_LEAST = 1e-3
"""Per cent of a core, and milliseconds, below which nothing is told apart."""


@dataclass(frozen=True, kw_only=True)
class _Runs:
    """The runs of a revision: how late items were in each, and what waiting cost."""

    revision: RevisionRecord
    place: int
    late: Sequence[float]
    share: Sequence[float]

    @property
    def medians(self) -> tuple[Median, Median]:
        """Of lateness, and of what waiting cost."""
        return median(self.late), median(self.share)


def figures(contents: Contents, shown: SideBySide) -> Mapping[str, Figure]:
    """What waiting costs, against how late items are; both better when smaller."""
    context = contents.context
    if context is None or not side_by_side.is_shown(context):
        return {}
    found = [_runs(place, one, contents, shown) for place, one in enumerate(context.revisions)]
    having = [runs for runs in found if runs.late and runs.share]
    if len(having) < 2:
        return {}
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.subplots()
    style.scale(axes, "x", [value for runs in having for value in runs.late])
    style.scale(axes, "y", [value for runs in having for value in runs.share])
    _draw_lines(axes, having)
    for runs in having:
        _draw(axes, runs)
    scenario = side_by_side.record_of(shown.late, contents.records)
    assert scenario is not None, "it has runs"
    partitions, interval = (scenario.parameters.get(one) for one in ("partitions", "interval"))
    work = f"{partitions} partitions, an item each per {interval} s"
    where = f"{context.topology} · {work} · lower left is better"
    medians = [one for runs in having for one in runs.medians]
    marks = explain(medians, middle="large mark", interval="arms")
    how = f"{marks} · line: one engine's settings"
    axes.set_xlabel("lateness of items at p99, milliseconds")
    axes.set_ylabel("CPU while waiting, % of a core")
    style.title(figure, axes, "What waiting costs, and how late items are", f"{where}\n{how}")
    style.tidy(axes)
    style.legend(figure, context.labels)
    return {shown.title: figure}


def _runs(place: int, revision: RevisionRecord, contents: Contents, shown: SideBySide) -> _Runs:
    late, share = (
        [max(value, _LEAST) for value in side_by_side.values(one, contents.records, revision.label)]
        for one in (shown.late, shown.share)
    )
    return _Runs(revision=revision, place=place, late=late, share=share)


def _draw(axes: Axes, runs: _Runs) -> None:
    """Each run small and pale; where the medians meet, a large mark with both intervals."""
    late, share = runs.medians
    colour, marker = style.colour(runs.place), style.marker(runs.place)
    if len(runs.late) == len(runs.share):
        axes.scatter(runs.late, runs.share, s=12, color=colour, marker=marker, alpha=0.5)
    axes.errorbar(
        late.value, share.value, xerr=_arms(late), yerr=_arms(share), fmt=marker, markersize=8,
        color=colour, elinewidth=1.2, capsize=2.5,
    )  # fmt: skip


def _draw_lines(axes: Axes, having: Sequence[_Runs]) -> None:
    """Joins what differs in its settings only, from the least late to the latest."""

    def key(runs: _Runs) -> tuple[str, str, tuple[str, ...]]:
        return side_by_side.without_settings(runs.revision)

    for _, group in groupby(sorted(having, key=key), key=key):
        ends = sorted((late.value, share.value) for late, share in (one.medians for one in group))
        across, up = zip(*ends, strict=True)
        axes.plot(across, up, color=style.GREY, linewidth=1, alpha=0.6, zorder=1)


def _arms(found: Median) -> list[list[float]]:
    """Distances below and above, in matplotlib's shape."""
    return [[found.value - found.low], [found.high - found.value]]

"""The points that a search measured, along the history: where a cost changed."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.bisection import Change, End, Searched, Stage
from waitbench.reporting.charts import style
from waitbench.reporting.shortening import shorten_apart
from waitbench.system.streams import printable

_MOST_CHARACTERS = 14
_CULPRIT = "#D55E00"


def draw(searched: Searched) -> Figure | None:
    """A panel for each stage: the ratio to its first point, with bounds; culprits are marked.

    ``None`` where nothing was measured.
    """
    stages = [stage for stage in searched.stages if _changes(stage)]
    if not stages:
        return None
    figure = Figure(figsize=(10, 3.4 * len(stages) + 0.6), layout="constrained")
    panels = figure.subplots(len(stages), 1, squeeze=False)
    for (axes,), stage in zip(panels, stages, strict=True):
        _draw_stage(axes, stage)
    good, bad = searched.ends
    what = f"{searched.criterion.metric.title} from {good} to {bad}"
    style.title(figure, None, f"{what} · {', '.join(searched.scenarios)}", "")
    return figure


def _changes(stage: Stage) -> list[Change]:
    """For each step the change from its good end to its middle, or to its bad end."""
    return [
        answer.changes[-2] if len(answer.changes) > 1 else answer.changes[0]
        for _, answer in stage.search.answers
        if answer.changes
    ]


def _draw_stage(axes: Axes, stage: Stage) -> None:
    changes = _changes(stage)
    places = [one.bad for one in changes]
    ratios = [one.ratio for one in changes]
    arms = [
        [one.ratio - one.low for one in changes],
        [max(0.0, min(one.high, one.ratio * 10) - one.ratio) for one in changes],
    ]
    axes.errorbar(
        places, ratios, yerr=arms, fmt="o", color=style.colour(0), capsize=2.5, elinewidth=1.2
    )
    if stage.search.end in (End.FOUND, End.RANGE):
        axes.axvspan(*stage.search.suspects, color=_CULPRIT, alpha=0.2)
    for point in stage.missing:
        axes.axvline(point, color=style.GREY, linestyle=":", linewidth=0.8)
    places = sorted({*places, 0})
    labels = shorten_apart([printable(stage.labels[it]) for it in places], _MOST_CHARACTERS)
    axes.set_xticks(places, labels, rotation=45, ha="right", fontsize=8)
    axes.set_xlim(-0.5, len(stage.points) - 0.5)
    axes.set_yscale("log")
    style.write_plainly(axes.yaxis)
    axes.set_ylabel("ratio to the good end of the step")
    axes.set_title(
        f"{len(stage.points)} {stage.grain.value}; bounds over all looks; shaded: the proven step; "
        "dotted: cannot be measured",
        fontsize=9,
        color=style.GREY,
    )
    style.tidy(axes)

"""The points that a search measured, along the history: where a cost changed."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.bisection import Change, End, Search
from waitbench.reporting.bisection import Searched
from waitbench.reporting.charts import style
from waitbench.reporting.shortening import shorten_apart
from waitbench.system.streams import printable

_MOST_CHARACTERS = 14
_CULPRIT = "#D55E00"


def draw(searched: Searched) -> Figure | None:
    """A panel for each search: the ratio to its first point, with bounds; culprits are marked.

    ``None`` where nothing was measured.
    """
    searches = [search for search in searched.searches if _changes(search)]
    if not searches:
        return None
    figure = Figure(figsize=(10, 3.4 * len(searches) + 0.6), layout="constrained")
    panels = figure.subplots(len(searches), 1, squeeze=False)
    for (axes,), search in zip(panels, searches, strict=True):
        _draw_search(axes, search)
    good, bad = searched.ends
    what = f"{searched.criterion.metric.title} from {good} to {bad}"
    style.title(figure, None, f"{what} · {', '.join(searched.scenarios)}", "")
    return figure


def _changes(search: Search) -> list[Change]:
    """For each step the change from its good end to its middle, or to its bad end."""
    return [step.changes[0] for step in search.steps if step.changes]


def _draw_search(axes: Axes, search: Search) -> None:
    changes = _changes(search)
    places = [one.bad for one in changes]
    ratios = [one.ratio for one in changes]
    arms = [
        [one.ratio - one.low for one in changes],
        [max(0.0, min(one.high, one.ratio * 10) - one.ratio) for one in changes],
    ]
    axes.errorbar(
        places, ratios, yerr=arms, fmt="o", color=style.colour(0), capsize=2.5, elinewidth=1.2
    )
    if search.end in (End.FOUND, End.RANGE):
        axes.axvspan(*search.suspects, color=_CULPRIT, alpha=0.2)
    for point in search.missing:
        axes.axvline(point, color=style.GREY, linestyle=":", linewidth=0.8)
    places = sorted({*places, 0})
    labels = shorten_apart([printable(search.labels[it]) for it in places], _MOST_CHARACTERS)
    axes.set_xticks(places, labels, rotation=45, ha="right", fontsize=8)
    axes.set_xlim(-0.5, len(search.points) - 0.5)
    axes.set_yscale("log")
    style.write_plainly(axes.yaxis)
    axes.set_ylabel("ratio to the good end of the step")
    axes.set_title(
        f"{len(search.points)} {search.grain.value}; bounds of the last look; shaded: the proven "
        "step; dotted: cannot be measured",
        fontsize=9,
        color=style.GREY,
    )
    style.tidy(axes)

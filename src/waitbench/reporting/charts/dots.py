"""Every run as a dot, and the median of the runs with its interval: no run hides in a mean."""

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes

from waitbench.analysis.statistics import CONFIDENCE, Median, median
from waitbench.reporting.charts import style

_SPREAD = 0.6
"""The share of a column over which its dots are spread, in order of rounds: a drift shows."""


def draw_column(
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


def explain(medians: Iterable[Median], *, middle: str = "line", interval: str = "band") -> str:
    """Says what the dots are, and what shows the medians and their intervals."""
    sure = {found.is_confident for found in medians}
    if not sure:
        return "no run gave a measurement"
    meaning = confident = f"{CONFIDENCE * 100:.0f} % interval"
    if sure == {False}:
        meaning = f"range (too few runs for a {confident})"
    elif len(sure) == 2:
        meaning = f"{confident}, or range where runs are too few"
    return f"dot: run · {middle}: median · {interval}: {meaning}"

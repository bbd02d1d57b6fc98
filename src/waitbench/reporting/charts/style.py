"""What all charts share: a revision keeps one colour and one marker everywhere."""

from collections.abc import Iterable, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from waitbench.analysis.medians import Median
from waitbench.analysis.statistics import CONFIDENCE
from waitbench.reporting.drawing import COLOURS, are_far_apart
from waitbench.reporting.shortening import shorten_apart
from waitbench.system.streams import printable

matplotlib.use("Agg")
# Labels are data: a dollar sign in one is not mathematics.
matplotlib.rcParams.update(
    {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "charts"}
)

GREY = "#555555"

_MARKERS = ("o", "s", "^", "D")

_VERY_FAR = 1e3
"""From this factor on, only the powers of ten are written at a scale."""
_MOST_COLUMNS = 4
_MOST_CHARACTERS = 64
_LEGEND_ROW_INCHES = 0.22


def colour(number: int) -> str:
    """The colour of the revision with this place in the comparison."""
    return COLOURS[number % len(COLOURS)]


def marker(number: int) -> str:
    """The marker of that revision; beyond the eighth colours repeat, with another marker."""
    return _MARKERS[number // len(COLOURS) % len(_MARKERS)]


def title(figure: Figure, axes: Axes | None, heading: str, explanation: str) -> None:
    """A bold heading, and in grey what is shown."""
    figure.suptitle(heading, fontsize=13, fontweight="bold")
    if axes is not None:
        axes.set_title(explanation, fontsize=9, color=GREY)


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


def tidy(axes: Axes) -> None:
    """No frame above and to the right, and a quiet grid behind the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)


def legend(figure: Figure, labels: Sequence[str]) -> None:
    """Names all revisions, in order, below the figure, which grows by what that takes.

    In as many columns as fit. The markers are made here and not taken from the axes, because
    matplotlib leaves out what begins with an underscore, and because a revision may have no run.
    """
    handles = [
        Line2D([], [], linestyle="none", marker=marker(number), color=colour(number))
        for number in range(len(labels))
    ]
    # Before they are measured: matplotlib would warn of what it cannot draw.
    texts = list(map(printable, shorten_apart(labels, _MOST_CHARACTERS)))
    for columns in range(min(len(labels), _MOST_COLUMNS), 0, -1):
        drawn = figure.legend(
            handles, texts, loc="outside lower center", ncols=columns, frameon=False
        )
        if columns == 1 or drawn.get_window_extent().width < figure.bbox.width:
            break
        drawn.remove()
    rows = -(-len(labels) // columns)
    figure.set_figheight(figure.get_figheight() + _LEGEND_ROW_INCHES * rows)


def scale(axes: Axes, name: str, values: Sequence[float]) -> None:
    """Limits of an axis, ``x`` or ``y``, that hold all values."""
    least, most = min(values), max(values)
    if not are_far_apart(values):
        axes.set(**{f"{name}lim": (0, most * 1.15 or 1)})
        return
    axes.set(**{f"{name}scale": "log", f"{name}lim": (least / 1.5, most * 1.5)})
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if most / least < _VERY_FAR else (1,)))
    write_plainly(axis)
    axis.set_minor_formatter(NullFormatter())


def write_plainly(axis: Axis) -> None:
    """Writes the figures at a logarithmic scale without powers."""
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))


def legend_of(figure: Figure, axes: Axes) -> None:
    """Names what is drawn in a panel, in one row below the figure."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)

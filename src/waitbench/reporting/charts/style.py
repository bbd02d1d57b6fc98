"""What all charts share: a revision keeps one colour everywhere, and all text can be read."""

from collections.abc import Iterable, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from waitbench.analysis.medians import Median
from waitbench.analysis.statistics import CONFIDENCE
from waitbench.reporting.drawing import COLOURS, Look, are_far_apart
from waitbench.system.streams import printable

matplotlib.use("Agg")
# Labels are data: a dollar sign in one is not mathematics.
matplotlib.rcParams.update(
    {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "charts"}
)

GREY = "#555555"
RED = "#A00000"

SMALL = 8
"""Points: the smallest text of any chart."""
WIDTH = 8.5
"""Inches. Where a page shows a chart 830 pixels wide, as GitHub does, the smallest text of one is
more than 10 pixels high; of one 10 inches wide, 9."""

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_VERY_FAR = 1e3
"""From this factor on, only the powers of ten are written at a scale; see ``log_scale``."""


def colour(number: int) -> str:
    """The colour of what has this place."""
    return COLOURS[number % len(COLOURS)]


def marker(look: Look) -> str:
    """What tells revisions of one colour apart."""
    return _MARKERS[look.turn % len(_MARKERS)]


def title(figure: Figure, axes: Axes | None, heading: str, explanation: str) -> None:
    """A bold heading, and in grey what is shown."""
    # Before they are measured: matplotlib would warn of what it cannot draw.
    figure.suptitle(printable(heading), fontsize=13, fontweight="bold")
    if axes is not None:
        axes.set_title(printable(explanation), fontsize=9, color=GREY)


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


def scale(axes: Axes, name: str, values: Sequence[float]) -> None:
    """Limits of an axis, ``x`` or ``y``, that hold all values."""
    least, most = min(values), max(values)
    if not are_far_apart(values):
        axes.set(**{f"{name}lim": (0, most * 1.15 or 1)})
        return
    log_scale(axes, name, least / 1.5, most * 1.5)


def log_scale(axes: Axes, name: str, low: float, high: float, very_far: float = _VERY_FAR) -> None:
    """A logarithmic axis, ``x`` or ``y``, from ``low`` to ``high``.

    Where these are very far apart, only the powers of ten are written.
    """
    axes.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < very_far else (1,)))
    write_plainly(axis)
    axis.set_minor_formatter(NullFormatter())


def write_plainly(axis: Axis) -> None:
    """Writes the figures at a logarithmic scale without powers."""
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))


def legend_of(figure: Figure, axes: Axes) -> None:
    """Names what is drawn in a panel, up to three in a row below the figure."""
    handles, labels = axes.get_legend_handles_labels()
    columns = min(len(labels), 3)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)

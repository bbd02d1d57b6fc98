"""What all charts share: a revision keeps one colour everywhere, and all text can be read."""

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from waitbench.reporting.drawing import COLOURS
from waitbench.system.streams import printable

matplotlib.use("Agg")
# Labels are data: a dollar sign in one is not mathematics.
matplotlib.rcParams.update(
    {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "charts"}
)

GREY = "#555555"

SMALL = 8
"""Points: the smallest text of any chart."""
WIDTH = 8.5
"""Inches. Where a page shows a chart 830 pixels wide, as GitHub does, the smallest text of one is
more than 10 pixels high; of one 10 inches wide, 9."""

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_FAR_APART = 5
"""From this factor on a scale is logarithmic, so that what is small can be told apart too."""
_VERY_FAR = 1e3
"""From this factor on, only the powers of ten are written at a scale."""


def colour(number: int) -> str:
    """The colour of what has this place."""
    return COLOURS[number % len(COLOURS)]


def marker(number: int) -> str:
    """What tells revisions of one colour apart."""
    return _MARKERS[number // len(COLOURS) % len(_MARKERS)]


def title(figure: Figure, axes: Axes | None, heading: str, explanation: str) -> None:
    """A bold heading, and in grey what is shown."""
    # Before they are measured: matplotlib would warn of what it cannot draw.
    figure.suptitle(printable(heading), fontsize=13, fontweight="bold")
    if axes is not None:
        axes.set_title(printable(explanation), fontsize=9, color=GREY)


def tidy(axes: Axes) -> None:
    """No frame above and to the right, and a quiet grid behind the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)


def scale(axes: Axes, name: str, values: Sequence[float]) -> None:
    """Limits of an axis, ``x`` or ``y``, that hold all values: logarithmic if these need it."""
    least, most = min(values, default=0), max(values, default=0)
    if least <= 0 or most / least <= _FAR_APART:
        axes.set(**{f"{name}lim": (0, most * 1.15 or 1)})
        return
    axes.set(**{f"{name}scale": "log", f"{name}lim": (least / 1.5, most * 1.5)})
    write_plainly(axes.xaxis if name == "x" else axes.yaxis)


def write_plainly(axis: Axis) -> None:
    """Writes the figures at a logarithmic axis without powers, and of a long one only some."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < _VERY_FAR else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_of(figure: Figure, axes: Axes) -> None:
    """Names what is drawn in a panel, up to three in a row below the figure."""
    handles, labels = axes.get_legend_handles_labels()
    columns = min(len(labels), 3)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)

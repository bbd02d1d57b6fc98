"""What all charts share: a revision keeps one colour everywhere."""

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.analysis.statistics import Estimate

matplotlib.use("Agg")
# Labels are data: a dollar sign in one is no mathematics.
matplotlib.rcParams.update({"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "charts"})

_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
"""Okabe and Ito's palette, which colour-blind readers can tell apart (jfly.uni-koeln.de/color)."""
_HATCHES = ("", "//", "..", "xx")


def colour(number: int) -> str:
    """The colour of the revision with this place in the comparison."""
    return _COLOURS[number % len(_COLOURS)]


def hatch(number: int) -> str:
    """Beyond the eighth revision colours repeat, with a hatch."""
    return _HATCHES[number // len(_COLOURS) % len(_HATCHES)]


def title(figure: Figure, axes: Axes | None, heading: str, explanation: str) -> None:
    """A bold heading, and one grey line that says what is shown."""
    figure.suptitle(heading, fontsize=13, fontweight="bold")
    if axes is not None:
        axes.set_title(explanation, fontsize=9, color="#555555")


def tidy(axes: Axes) -> None:
    """No frame above and to the right, and a quiet grid behind the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)


def error(estimate: Estimate, scale: float = 1.0) -> list[list[float]] | None:
    """Error bars in matplotlib's shape: distances below and above."""
    if estimate.low is None or estimate.high is None:
        return None
    return [[(estimate.value - estimate.low) * scale], [(estimate.high - estimate.value) * scale]]

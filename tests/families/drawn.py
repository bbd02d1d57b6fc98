"""What a chart shows, read from the drawn figure."""

from typing import Any, NamedTuple, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle


class Bar(NamedTuple):
    """Where a bar begins, and how long it is, upright or lying."""

    x: float
    y: float
    width: float
    height: float


def bars(axes: Axes) -> list[Bar]:
    """The bars, in the order in which they were drawn."""
    found = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    return [Bar(b.get_x(), b.get_y(), b.get_width(), b.get_height()) for b in found]


def xs(line: Line2D) -> list[float]:
    return list(cast("list[float]", line.get_xdata()))


def ys(line: Line2D) -> list[float]:
    return list(cast("list[float]", line.get_ydata()))


def legend(figure: Figure) -> list[str]:
    """The texts of the only legend."""
    (only,) = cast("list[Any]", figure.legends)
    return [text.get_text() for text in only.get_texts()]

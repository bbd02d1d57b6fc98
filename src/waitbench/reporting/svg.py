"""Pictures of a page as SVG: places in per cent, so that they are as wide as there is room."""

from collections.abc import Iterator

from waitbench.reporting.document import Dot
from waitbench.reporting.drawing import Axis

_LEFT, _RIGHT = "M-5 0 5-5V5Z", "M5 0-5-5V5Z"


def of_axis(axis: Axis) -> str:
    """The values at an axis, for the head of a column."""
    anchors = {axis.low: "start", axis.high: "end"}
    texts = "".join(
        f'<text x="{_percent(axis, value)}" y="75%" '
        f'text-anchor="{anchors.get(value, "middle")}">{text}</text>'
        for value, text in axis.ticks
    )
    return f'<svg class="axis" aria-hidden="true">{texts}</svg>'


def of_dot(dot: Dot, axis: Axis) -> str:
    """A value, its interval and what is allowed; an arrow where it lies beyond the axis.

    The row says the same in figures, so that nobody need see it.
    """
    return f'<svg class="dot" aria-hidden="true">{"".join(_parts(dot, axis))}</svg>'


def _parts(dot: Dot, axis: Axis) -> Iterator[str]:
    if dot.band is not None:
        low, high = map(axis.clipped, dot.band)
        width = axis.place(high) - axis.place(low)
        yield f'<rect x="{_percent(axis, low)}" width="{width:.1%}" height="100%"/>'
        yield '<line x1="50%" x2="50%" y2="100%"/>'
    ratio, colour = dot.ratio, f' color="{dot.colour}"' if dot.colour else ""
    yield f"<g{colour}>"
    if ratio.high is not None:
        # Of what is open there may be an upper bound only.
        ends = (_percent(axis, end) for end in (ratio.low or ratio.value, ratio.high))
        yield '<line x1="{}" x2="{}" y1="50%" y2="50%" class="i"/>'.format(*ends)
    place = axis.place(ratio.value)
    fill = ' class="h"' if dot.is_open else ""
    if 0 <= place <= 1:
        yield f'<circle cx="{_percent(axis, ratio.value)}" cy="50%" r="4.5"{fill}/>'
    else:
        arrow = _LEFT if place < 0 else _RIGHT
        yield f'<svg x="{_percent(axis, ratio.value)}" y="50%"><path d="{arrow}"{fill}/></svg>'
    yield "</g>"


def _percent(axis: Axis, ratio: float) -> str:
    """Where a ratio lies from the left; at the edge, if it lies beyond."""
    return f"{axis.place(axis.clipped(ratio)):.1%}"

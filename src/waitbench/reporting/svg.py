"""Pictures of a page as SVG, with places in per cent: they are as wide as there is room."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from waitbench.reporting.document import Bar, Dot
from waitbench.reporting.drawing import Axis

_REACH = 70
"""Per cent of a cell that the longest bar of its column takes: the value is behind it."""
_PITCH = 1.2
"""Ems from bar to bar."""
_LEFT, _RIGHT = "M-5 0 5-5V5Z", "M5 0-5-5V5Z"


def of_axis(axis: Axis) -> str:
    anchors = {axis.low: "start", axis.high: "end"}
    texts = "".join(
        f'<text x="{_percent(axis, value)}" y="75%" '
        f'text-anchor="{anchors.get(value, "middle")}">{text}</text>'
        for value, text in axis.ticks
    )
    return f'<svg class="axis" aria-hidden="true">{texts}</svg>'


def of_bars(cell: Sequence[Bar], colours: Mapping[str, str], reach: float) -> str:
    """A bar for each revision, one below the other, with its value and a line over all runs."""
    scale = _REACH / (reach or 1.0)
    parts = "".join(
        f'<rect y="{top:.1f}em" width="{(bar.mean or 0) * scale:.1f}%" height="1em" '
        f'fill="{colours[bar.label]}"/>'
        f'<line x1="{bar.least * scale:.1f}%" x2="{bar.most * scale:.1f}%" '
        f'y1="{top + 0.5:.1f}em" y2="{top + 0.5:.1f}em"/>'
        f'<text x="{bar.most * scale:.1f}%" y="{top + 0.85:.2f}em" dx=".4em">{bar.text}</text>'
        for top, bar in zip(itertools.count(0.0, _PITCH), cell)
    )
    height = f"height:{_PITCH * len(cell):.1f}em"
    return f'<svg class="bars" aria-hidden="true" style="{height}">{parts}</svg>'


def of_dot(dot: Dot, axis: Axis) -> str:
    """A value, interval and margin. Hidden from screen readers, as the row has the figures."""
    return f'<svg class="dot" aria-hidden="true">{"".join(_parts(dot, axis))}</svg>'


def _parts(dot: Dot, axis: Axis) -> Iterator[str]:
    if dot.band is not None:
        low, high = map(axis.clipped, dot.band)
        width = axis.place(high) - axis.place(low)
        yield f'<rect x="{_percent(axis, low)}" width="{width:.1%}" height="100%"/>'
        yield '<line x1="50%" x2="50%" y2="100%"/>'
    ratio = dot.ratio
    yield f'<g class="{dot.style}">' if dot.style else f'<g color="{dot.colour or "inherit"}">'
    if ratio.high is not None:
        # An open question may have an upper bound only.
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
    """The position of a ratio from the left; the edge if it lies beyond."""
    return f"{axis.place(axis.clipped(ratio)):.1%}"

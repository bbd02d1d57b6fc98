"""Pictures of a page as SVG: places in per cent, so that they are as wide as there is room."""

import io
import re
from collections.abc import Collection, Iterator, Mapping
from html import escape

from waitbench.analysis.scan import Scanned
from waitbench.analysis.statistics import Estimate
from waitbench.reporting.document import Dot
from waitbench.reporting.drawing import Axis
from waitbench.system.streams import printable

_LEFT, _RIGHT, _UP, _DOWN = "M-5 0 5-5V5Z", "M5 0-5-5V5Z", "M0-5 5 5H-5Z", "M0 5 5-5H-5Z"


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


def of_trend(ratios: Mapping[str, Estimate], at_steps: Collection[str], axis: Axis) -> str:
    """A history from the left to the right: dots with intervals; change points are shaded."""
    count = max(len(ratios), 1)
    drawn = ['<line x2="100%" y1="50%" y2="50%" class="one"/>']
    for number, (name, ratio) in enumerate(ratios.items()):
        x = f"{(number + 0.5) / count:.2%}"
        low, high, middle = (
            _height(axis, one or 1.0) for one in (ratio.low, ratio.high, ratio.value)
        )
        if name in at_steps:
            drawn.append(f'<rect x="{number / count:.2%}" width="{1 / count:.2%}" height="100%"/>')
        if name in at_steps or number in (0, count - 1):
            shown = escape(printable(name))
            drawn.append(f'<text x="{x}" y="100%" dy="14" text-anchor="middle">{shown}</text>')
        drawn.append(f'<line x1="{x}" x2="{x}" y1="{low}" y2="{high}" class="i"/>')
        at = axis.place(ratio.value)
        arrow = f'<svg x="{x}" y="{middle}"><path d="{_DOWN if at < 0 else _UP}"/></svg>'
        dot = f'<circle cx="{x}" cy="{middle}" r="3.5"/>'
        drawn.append(dot if 0 <= at <= 1 else arrow)
    texts = "".join(
        f'<text x="2" y="{_height(axis, ratio)}" dy="{shift}">{text}</text>'
        for (ratio, text), shift in zip(axis.ticks, (-3, -4, 10), strict=True)
    )
    return f'<svg class="trend" aria-hidden="true">{"".join(drawn)}{texts}</svg>'


def _height(axis: Axis, ratio: float) -> str:
    return f"{1 - axis.place(axis.clipped(ratio)):.1%}"


def of_scan(scanned: Scanned) -> tuple[str, ...]:
    """The chart of a scan, if there is one, with black in the colour of the text around it."""
    # Here, not above: matplotlib takes a second to import, and most pages have no scan.
    from waitbench.reporting.charts import curves

    figure = curves.draw(scanned)
    if figure is None:
        return ()
    written = io.StringIO()
    figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    found = written.getvalue()
    drawn = re.sub(r'(width|height)="[\d.]+pt"', "", found[found.index("<svg") :], count=2)
    return (drawn.replace("#000000", "currentColor").replace("<svg", '<svg class="scan"', 1),)

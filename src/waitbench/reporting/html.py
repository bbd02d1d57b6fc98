"""Renders a page as a single HTML file, which needs no network and no scripts."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from waitbench.model.errors import sanitize
from waitbench.reporting.document import Bar, Dot, Report
from waitbench.reporting.drawing import MARK_STYLES, Axis
from waitbench.reporting.notes import HEADLINES

_TEMPLATES = Path(__file__).parent / "templates"
_PITCH = 1.2
"""The distance between the tops of two bars, in ems."""
_ARROWS = {-1: "M-5 0 5-5V5Z", 1: "M5 0-5-5V5Z"}
"""Paths of the arrows to the left and to the right."""


def render(page: Report) -> str:
    """The page as HTML, with all content escaped."""
    # Imported late, as most commands do not need it.
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_sanitize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(dot=svg_of_dot, axis=svg_of_axis, bars=svg_of_bars)
    environment.globals["next_table_number"] = itertools.count(1).__next__
    return environment.get_template("page.html").render(
        page=page, headlines=HEADLINES, styles=MARK_STYLES
    )


def _sanitize(value: object) -> object:
    """Replaces control characters, and characters that reorder text."""
    # What the template declares safe is a ``Markup``, a subclass of ``str``.
    return sanitize(value) if type(value) is str else value


def svg_of_axis(axis: Axis) -> str:
    anchors = {axis.low: "start", axis.high: "end"}
    texts = "".join(
        f'<text x="{axis.place(value):.1%}" y="75%" '
        f'text-anchor="{anchors.get(value, "middle")}">{text}</text>'
        for value, text in axis.ticks
    )
    return f'<svg class="axis" aria-hidden="true">{texts}</svg>'


def svg_of_bars(cell: Sequence[Bar], colours: Mapping[str, str], scale: float) -> str:
    """A bar for each revision, one below another, with its value, and a line from least to most."""
    parts = "".join(
        f'<rect y="{top:.1f}em" width="{(bar.mean or 0) * scale:.1%}" height="1em" '
        f'fill="{colours[bar.label]}"/>'
        f'<line x1="{bar.least * scale:.1%}" x2="{bar.most * scale:.1%}" '
        f'y1="{top + 0.5:.1f}em" y2="{top + 0.5:.1f}em"/>'
        f'<text x="{bar.most * scale:.1%}" y="{top + 0.85:.2f}em" dx=".4em">{bar.text}</text>'
        for top, bar in zip(itertools.count(0.0, _PITCH), cell)
    )
    height = f"height:{_PITCH * len(cell):.1f}em"
    return f'<svg class="bars" aria-hidden="true" style="{height}">{parts}</svg>'


def svg_of_dot(dot: Dot, axis: Axis) -> str:
    """A value, its interval and the margin. Screen readers skip it, as the row has the figures."""
    mark, parts = dot.on(axis), list[str]()
    if mark.band is not None:
        left, right = map(axis.place, mark.band)
        parts.append(f'<rect x="{left:.1%}" width="{right - left:.1%}" height="100%"/>')
        parts.append('<line x1="50%" x2="50%" y2="100%"/>')
    attribute = f'class="{dot.style}"' if dot.style else f'color="{dot.colour or "inherit"}"'
    parts.append(f"<g {attribute}>")
    if mark.interval is not None:
        left, right = map(axis.place, mark.interval)
        parts.append(f'<line x1="{left:.1%}" x2="{right:.1%}" y1="50%" y2="50%" class="i"/>')
    x, fill = f"{axis.place(mark.value):.1%}", ' class="h"' if dot.is_open else ""
    if mark.beyond:
        parts.append(f'<svg x="{x}" y="50%"><path d="{_ARROWS[mark.beyond]}"{fill}/></svg>')
    else:
        parts.append(f'<circle cx="{x}" cy="50%" r="4.5"{fill}/>')
    return f'<svg class="dot" aria-hidden="true">{"".join(parts)}</g></svg>'

"""A page -> one HTML file that needs nothing else: no network, no script to be read."""

import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from waitbench.reporting import svg
from waitbench.reporting.document import (
    Cell,
    Dot,
    Flame,
    Page,
    Word,
    text_of,
)
from waitbench.reporting.formats import format_share
from waitbench.reporting.notes import HEADLINES
from waitbench.reporting.summary import BROKEN, HOLDS, WARNING
from waitbench.system.streams import printable

if TYPE_CHECKING:
    import jinja2

_TEMPLATES = Path(__file__).parent / "templates"
_TONES = {BROKEN: "bad", HOLDS: "good", WARNING: "wary", "?": "wary"}
"""How what has a mark looks."""
_NARROWEST = 0.0005
"""A function that is less wide, as a share of its flame graph, is left out."""
_ALIKE = 0.1
"""A function whose share in the two revisions differs by less than this is the same."""


class FlameBox(NamedTuple):
    """A function of a flame graph: where it is drawn, in per cent of the width, and how."""

    depth: int
    left: float
    width: float
    tone: str
    """``less`` or ``more`` than the baseline, or ``same``."""
    name: str
    said: str


def render(page: Page) -> str:
    """The page as HTML. Whatever is in it is shown as text."""
    return (
        _environment()
        .get_template("page.html")
        .render(page=page, number=itertools.count(1).__next__, headlines=HEADLINES)
    )


@cache
def _environment() -> "jinja2.Environment":
    # Here, not above: it is needed by nothing else, and takes a while.
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_text,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["dot"] = svg.of_dot
    environment.filters["axis"] = svg.of_axis
    environment.filters["sort_key"] = sort_key
    environment.filters["text"] = text_of
    environment.filters["colour"] = lambda cell: cell.colour if isinstance(cell, Word) else ""
    environment.filters["boxes"] = boxes
    environment.filters["tone"] = lambda mark: _TONES.get(mark, "")
    environment.tests["dot"] = lambda cell: isinstance(cell, Dot)
    return environment


def _text(value: object) -> object:
    """What a template writes: nothing in it reorders letters or commands a terminal."""
    # Markup is what the template itself declares safe.
    return printable(value) if type(value) is str else value


def sort_key(cell: Cell) -> str | None:
    """What a cell sorts by, where that is not its text or the number that it begins with."""
    if isinstance(cell, Dot):
        return f"{cell.ratio.value:.4g}"
    found = cell.sort if isinstance(cell, Word) else None
    return None if found is None else f"{found:.4g}"


def boxes(flame: Flame, measure: str) -> list[FlameBox]:
    """The functions of a flame graph by ``wakeups`` or ``cpu``, callers above; none without any.

    Each is as wide as what all revisions spend there together.
    """
    return list(_boxes(flame, measure))


def _boxes(flame: Flame, measure: str) -> Iterator[FlameBox]:
    lefts: list[float] = []
    whole = sum(getattr(flame.nodes[0], measure)) if flame.nodes else 0
    for node in flame.nodes if whole else ():
        values = getattr(node, measure)
        width = sum(values) / whole
        left = lefts[node.depth] if node.depth < len(lefts) else 0.0
        # The next one of this depth stands beside it, what it calls begins where it does.
        lefts[node.depth :] = [left + width, left]
        if width >= _NARROWEST:
            said = ", ".join(
                f"{label} {_figure(value, measure)}"
                for label, value in zip(flame.labels, values, strict=True)
            )
            yield FlameBox(node.depth, left, width, _tone(values), node.name, said)


def _figure(value: float, measure: str) -> str:
    if measure == "cpu":
        return f"{format_share(value)} of a CPU"
    return f"{value:,.4g} wake-ups a second"


def _tone(values: Any) -> str:
    if len(values) < 2 or not sum(values):
        return "same"
    before, after = values
    share = (after - before) / (after + before)
    return "same" if abs(share) < _ALIKE else "less" if share < 0 else "more"

"""A page -> one HTML file that needs nothing else: no network, no script to be read."""

import itertools
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from waitbench.reporting import svg
from waitbench.reporting.document import Page
from waitbench.reporting.notes import HEADLINES
from waitbench.reporting.summary import MARK_STYLES
from waitbench.system.streams import printable

if TYPE_CHECKING:
    import jinja2

_TEMPLATES = Path(__file__).parent / "templates"


def render(page: Page) -> str:
    """The page as HTML. Whatever is in it is shown as text."""
    template = _environment().get_template("page.html")
    number = itertools.count(1).__next__
    return template.render(page=page, number=number, headlines=HEADLINES, styles=MARK_STYLES)


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
    environment.filters["bars"] = svg.of_bars
    return environment


def _text(value: object) -> object:
    """What a template writes: nothing in it reorders letters or commands a terminal."""
    # Markup is what the template itself declares safe.
    return printable(value) if type(value) is str else value

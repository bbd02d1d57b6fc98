"""A page as one HTML file that needs no network, and no script to be read."""

import itertools
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from waitbench.reporting import svg
from waitbench.reporting.document import Page
from waitbench.reporting.notes import HEADLINES
from waitbench.reporting.verdict_symbols import MARK_STYLES
from waitbench.system.streams import printable

if TYPE_CHECKING:
    import jinja2

_TEMPLATES = Path(__file__).parent / "templates"


def render(page: Page) -> str:
    """The page as HTML, with all content escaped."""
    template = _environment().get_template("page.html")
    number = itertools.count(1).__next__
    return template.render(page=page, number=number, headlines=HEADLINES, styles=MARK_STYLES)


@cache
def _environment() -> "jinja2.Environment":
    # Imported here, as it takes a while and nothing else needs it.
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_text,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(dot=svg.of_dot, axis=svg.of_axis, bars=svg.of_bars)
    return environment


def _text(value: object) -> object:
    """Removes characters that reorder letters or command a terminal."""
    # A ``Markup``, which the template declares safe, is not exactly a ``str``.
    return printable(value) if type(value) is str else value

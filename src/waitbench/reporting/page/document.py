"""A page -> one HTML file that needs nothing else, not even a network."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from waitbench.reporting.page.parts import Chart, Page
from waitbench.system.streams import printable

_TEMPLATES = Path(__file__).parent / "templates"


class _Drawings:
    """The charts of a page, numbered as the template comes to them."""

    def __init__(self) -> None:
        self._specs: dict[str, int] = {}
        self._data: dict[str, int] = {}
        self._charts: list[dict[str, Any]] = []

    def add(self, chart: Chart) -> int:
        """Keeps a chart: what it has in common with others once, and its data without keys."""
        fields = list(chart.rows[0])
        data = {"fields": fields, "rows": [[row[name] for name in fields] for row in chart.rows]}
        self._charts.append(
            {
                "spec": _place(self._specs, chart.spec),
                "data": _place(self._data, data),
                # What a reader who cannot see it is told differs from chart to chart.
                "description": printable(chart.description),
            }
        )
        return len(self._charts) - 1

    def plain(self) -> Mapping[str, Any]:
        return {
            "specs": list(map(json.loads, self._specs)),
            "data": list(map(json.loads, self._data)),
            "charts": self._charts,
        }


def render(page: Page) -> str:
    """The page as HTML. Whatever is in it is shown as text."""
    # Here, not above: it is needed by nothing else, and takes a while.
    import jinja2
    import vl_convert

    drawings = _Drawings()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        page=page,
        drawing=drawings.add,
        drawings=drawings.plain,
        style=partial(_own, "page.css"),
        script=partial(_own, "page.js"),
        library=vl_convert.javascript_bundle,
    )


def _place(kept: dict[str, int], content: Mapping[str, Any]) -> int:
    """The number of some plain data, which is kept if it is not there yet."""
    return kept.setdefault(json.dumps(_printable(content)), len(kept))


def _own(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _shown(value: object) -> object:
    """What a template writes: nothing in it reorders letters or commands a terminal."""
    # Markup is what the template itself declares safe.
    return printable(value) if type(value) is str else value


def _printable(value: Any) -> Any:
    """The same of plain data."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(name): _printable(one) for name, one in value.items()}
    if isinstance(value, Sequence):
        return [_printable(one) for one in value]
    return value

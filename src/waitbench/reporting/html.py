"""A page -> one HTML file that needs nothing else, not even a network."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from waitbench.analysis.statistics import Estimate
from waitbench.analysis.verdicts import Verdict
from waitbench.reporting.document import Cell, Chart, Flame, Page, Ratio, Value
from waitbench.reporting.formats import format_interval, format_ratio
from waitbench.system.streams import printable

_TEMPLATES = Path(__file__).parent / "templates"
_TONES = 4
"""Shades on either side of no change."""
_DOUBLINGS_A_TONE = 0.5
_MARKS = {Verdict.FASTER: "▼", Verdict.SLOWER: "▲", Verdict.INCONCLUSIVE: "?"}
"""What tell verdicts apart to who cannot tell the colours apart."""


class _Drawings:
    """The charts of a page, numbered as the template comes to them."""

    def __init__(self) -> None:
        self._specs: dict[str, int] = {}
        self._data: dict[str, int] = {}
        self._charts: list[dict[str, Any]] = []
        self._flames: list[Mapping[str, Any]] = []

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

    def add_flame(self, flame: Flame) -> int:
        """Keeps a flame graph: a row for each function."""
        rows = [[one.depth, one.name, one.kind, one.wakeups, one.cpu] for one in flame.nodes]
        self._flames.append(_printable({"labels": flame.labels, "nodes": rows}))
        return len(self._flames) - 1

    def plain(self) -> Mapping[str, Any]:
        return {
            "specs": list(map(json.loads, self._specs)),
            "data": list(map(json.loads, self._data)),
            "charts": self._charts,
            **({"flames": self._flames} if self._flames else {}),
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
        finalize=_text,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    return environment.get_template("page.html").render(
        page=page,
        drawing=drawings.add,
        flame_of=drawings.add_flame,
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


def _text(value: object) -> object:
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


class ShownCell(NamedTuple):
    """What a page shows of a cell."""

    text: str
    sort: float | None = None
    tone: str = ""
    """How it is coloured: see ``tone``."""
    more: str = ""
    """What stands smaller below it."""


def shown(cell: Cell) -> ShownCell:
    """What a page shows of a cell, and how that sorts and looks."""
    if isinstance(cell, str):
        return ShownCell(cell)
    if isinstance(cell, Ratio):
        ratio = cell.estimate
        text = f"{cell.text} {_MARKS.get(ratio.verdict, '')}".rstrip()
        return ShownCell(text, ratio.value, tone(ratio), format_interval(ratio))
    if isinstance(cell, Value):
        below = (tone(cell.ratio), format_ratio(cell.ratio)) if cell.ratio else ("", "")
        return ShownCell(cell.text, cell.estimate.value, *below)
    return ShownCell(cell.text, cell.sort)


def tone(ratio: Estimate) -> str:
    """The name of a colour: ``less4`` … ``less1``, ``same``, ``unclear``, ``more1`` … ``more4``."""
    if ratio.verdict is Verdict.INCONCLUSIVE:
        return "unclear"
    if ratio.verdict is Verdict.WITHIN_MARGIN or ratio.value <= 0:
        return "same"
    doublings = abs(math.log2(ratio.value))
    shade = min(_TONES, 1 + int(doublings / _DOUBLINGS_A_TONE))
    return f"{'less' if ratio.value < 1 else 'more'}{shade}"

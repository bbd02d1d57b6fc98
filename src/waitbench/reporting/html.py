"""A page -> one HTML file that needs nothing else, not even a network."""

import base64
import gzip
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from waitbench.analysis.medians import cut
from waitbench.analysis.statistics import Estimate
from waitbench.analysis.verdicts import Verdict
from waitbench.reporting.answer import MARKS
from waitbench.reporting.document import Cell, Change, Chart, Flame, Page, Ratio, Value
from waitbench.reporting.formats import format_change, format_range, format_ratio
from waitbench.system.streams import printable

if TYPE_CHECKING:
    from markupsafe import Markup

_TEMPLATES = Path(__file__).parent / "templates"
_TONES = 4
"""Shades on either side of no change."""
_DOUBLINGS_A_TONE = 0.5


class _Drawings:
    """The charts of a page, numbered as the template comes to them."""

    def __init__(self) -> None:
        self._specs: dict[str, int] = {}
        self._data: dict[str, int] = {}
        self._fills: dict[str, int] = {}
        self._choices: dict[str, int] = {}
        self._most = 0
        """The most runs that a revision has in a chart."""
        self._charts: list[dict[str, Any]] = []
        self._flames: list[Mapping[str, Any]] = []

    def add(self, chart: Chart) -> int:
        """Keeps a chart: what it has in common with others once, and its data without keys."""
        self._charts.append(
            {
                "spec": _place(self._specs, chart.spec),
                "data": _place(self._data, _without_keys(chart.rows)),
                "choices": self._place_choices(chart),
                # What a reader who cannot see it is told differs from chart to chart.
                "description": printable(chart.description),
            }
        )
        counts = Counter(row["revision"] for row in chart.rows if "round" in row)
        self._most = max(self._most, *counts.values(), 0)
        return len(self._charts) - 1

    def add_flame(self, flame: Flame) -> int:
        """Keeps a flame graph: a row for each function."""
        rows = [[one.depth, one.name, one.kind, one.wakeups, one.cpu] for one in flame.nodes]
        self._flames.append(_printable({"labels": flame.labels, "nodes": rows}))
        return len(self._flames) - 1

    def _place_choices(self, chart: Chart) -> int:
        """The number of what a chart can show: titles, and what stands for placeholders then."""
        found = [[one.title, _place(self._fills, one.fills)] for one in chart.choices]
        return self._choices.setdefault(json.dumps(_printable(found)), len(self._choices))

    def plain(self) -> Mapping[str, Any]:
        return {
            "specs": list(map(json.loads, self._specs)),
            "data": list(map(json.loads, self._data)),
            "fills": list(map(json.loads, self._fills)),
            "choices": list(map(json.loads, self._choices)),
            "ranks": [0, *(cut(count) for count in range(1, self._most + 1))],
            "charts": self._charts,
            **({"flames": self._flames} if self._flames else {}),
        }


def render(page: Page) -> str:
    """The page as HTML. Whatever is in it is shown as text."""
    # Here, not above: it is needed by nothing else, and takes a while.
    import jinja2

    drawings = _Drawings()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_text,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.filters["shown"] = shown
    environment.filters["tone"] = tone
    environment.filters["breakable"] = _breakable
    return environment.get_template("page.html").render(
        page=page,
        drawing=drawings.add,
        flame_of=drawings.add_flame,
        number=itertools.count(1).__next__,
        drawings=drawings.plain,
        style=partial(_own, "page.css"),
        script=partial(_own, "page.js"),
        library=_library,
    )


@cache
def _library() -> str:
    """What draws the charts, packed: to make it takes seconds."""
    import vl_convert

    # Its stub lacks the default.
    return _compressed(str(vl_convert.javascript_bundle()))  # type: ignore[call-arg]


def _compressed(text: str) -> str:
    """A text as letters that need no escaping; what is the same gives the same."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


def _without_keys(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Flat objects that all have the same keys, with these once."""
    fields = list(rows[0]) if rows else []
    return {"fields": fields, "rows": [[row[name] for name in fields] for row in rows]}


def _place(kept: dict[str, int], content: Mapping[str, Any]) -> int:
    """The number of some plain data, which is kept if it is not there yet."""
    return kept.setdefault(json.dumps(_printable(content)), len(kept))


def _own(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _text(value: object) -> object:
    """What a template writes: nothing in it reorders letters or commands a terminal."""
    # Markup is what the template itself declares safe.
    return printable(value) if type(value) is str else value


def _breakable(name: str) -> "Markup":
    """A name that is broken between its parts, rather than within one."""
    from markupsafe import Markup

    return Markup("<wbr>").join(re.split(r"(?<=[@+])", printable(name)))


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
        text = f"{MARKS[ratio.verdict]} {format_change(ratio)}{cell.note}"
        return ShownCell(text, ratio.value, tone(ratio), format_range(ratio))
    if isinstance(cell, Change):
        return ShownCell(cell.text, cell.after.value if cell.after else None)
    if isinstance(cell, Value):
        below = (tone(cell.ratio), format_ratio(cell.ratio)) if cell.ratio else ("", "")
        return ShownCell(cell.text, cell.estimate.value, *below)
    return ShownCell(cell.text, cell.sort)


def tone(ratio: Estimate) -> str:
    """The name of a colour: ``same``, ``inconclusive``, ``less1`` to ``less4``, ``more1`` to …"""
    if ratio.verdict is Verdict.INCONCLUSIVE:
        return "inconclusive"
    if ratio.verdict is Verdict.WITHIN_MARGIN or ratio.value <= 0:
        return "same"
    doublings = abs(math.log2(ratio.value))
    shade = min(_TONES, 1 + int(doublings / _DOUBLINGS_A_TONE))
    return f"{'less' if ratio.value < 1 else 'more'}{shade}"

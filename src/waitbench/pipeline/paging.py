"""Folders of results -> the page of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from waitbench.analysis import history, statistics
from waitbench.analysis.results import Note
from waitbench.analysis.sessions import Session
from waitbench.model.errors import UsageError
from waitbench.model.metrics import BY_NAME
from waitbench.pipeline import stored_sessions
from waitbench.pipeline.concluding import conclusion_of
from waitbench.reporting import html, idle
from waitbench.reporting.answer import remarks
from waitbench.reporting.document import Page, Table
from waitbench.reporting.formats import format_count
from waitbench.reporting.idle import Price
from waitbench.reporting.page import COSTS, Trends, compose, compose_history
from waitbench.reporting.verdict_symbols import WARNING
from waitbench.store.comparisons import COMPARISON_NAME, MEASURE_FIRST, Contents
from waitbench.system import files

_NEWEST = 50
"""Revisions that a page of many shows, besides the anchor and those at change points."""


def write(path: Path, roots: Sequence[Path], price: Price | None = None) -> None:
    """Writes the page of all comparisons in these folders and below them.

    Of many, their history. Raises ``UsageError`` where there is none, and ``HarnessError`` when the
    disk refuses.
    """
    files.require_writable(path)
    folders, unreadable = stored_sessions.folders_in(roots), list[str]()
    found = [one for one in stored_sessions.each(folders, unreadable) if one.records]
    if not found:
        named = ", ".join(map(str, roots))
        raise UsageError(f"There is no comparison in {named}. {MEASURE_FIRST}")
    lacking = format_count(len(unreadable), "comparison", "comparisons")
    text = f"{lacking} cannot be read: see what the command printed"
    note = Note(kind="unreadable", level=WARNING, text=text, count=len(unreadable))
    page = page_of_several(found, price) if len(folders) > 1 else page_of(found[0], price)
    page = replace(page, notes=(*page.notes, note)) if unreadable else page
    files.write_text(path, html.render(page), named=True)


def page_of(contents: Contents, price: Price | None = None) -> Page:
    """The page of one comparison."""
    found = conclusion_of(contents)
    return compose(contents, found.compared, found.findings, found.reasons, price)


def side_by_side(folder: Path, price: Price | None = None) -> list[Table]:
    """The table of what ``workers`` has measured into this folder; none of any other."""
    if files.is_there(folder / COMPARISON_NAME):
        return []
    found = [*stored_sessions.each(stored_sessions.folders_in([folder]), [])]
    return _of_workers(found, price)


def _of_workers(found: Sequence[Contents], price: Price | None) -> list[Table]:
    """Workers side by side; nothing unless each comparison is of a worker of its own."""
    if len({one.comparison.engine for one in found}) < len(found):
        return []
    workers = [statistics.compare(record) for one in found for record in one.records]
    notes = [remark for one in workers for remark in remarks(one)]
    made = idle.tables(workers, price, grouped=False)
    return [replace(one, notes=(*one.notes, *notes)) for one in made]


def page_of_several(found: Sequence[Contents], price: Price | None = None) -> Page:
    """The page of workers side by side, or of the history of all that was measured."""
    tables = _of_workers(found, price) if len(found) > 1 else []
    if tables:
        return replace(compose_history(found, {}, 0), tables=tables)
    costs = [BY_NAME[name] for name in COSTS]
    told = [session for one in found for session in stored_sessions.sessions_of(one, *costs)]
    # Of the engine that most tell of.
    engines = Counter(one.engine for one in told)
    most = max(engines, key=engines.__getitem__, default="")
    trends = _trends([one for one in told if one.engine == most])
    return compose_history(found, trends, _NEWEST)


def _trends(told: Sequence[Session]) -> Trends:
    """Of each cost, relative to what most sessions hold."""
    anchor = history.commonest(told)
    return {
        name: history.trends([one for one in told if one.metric == name], anchor)
        for name in COSTS
        if anchor is not None
    }

"""Folders of results -> a page."""

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
"""Revisions on the page of a history, besides the anchor and those at change points."""


def write(path: Path, roots: Sequence[Path], price: Price | None = None) -> None:
    """Writes the page of the comparisons in some folders and below them; of several, their history.

    Raises ``UsageError`` if there is none, and ``HarnessError`` when the disk refuses.
    """
    files.require_writable(path)
    folders, unreadable = stored_sessions.folders_in(roots), list[str]()
    stored = [it for it in stored_sessions.each(folders, unreadable) if it.records]
    if not stored:
        names = ", ".join(map(str, roots))
        raise UsageError(f"There is no comparison in {names}. {MEASURE_FIRST}")
    lacking = format_count(len(unreadable), "comparison", "comparisons")
    text = f"{lacking} cannot be read: see what the command printed"
    note = Note(kind="unreadable", level=WARNING, text=text, count=len(unreadable))
    page = page_of_several(stored, price) if len(folders) > 1 else page_of(stored[0], price)
    page = replace(page, notes=(*page.notes, note)) if unreadable else page
    files.write_text(path, html.render(page), named=True)


def page_of(contents: Contents, price: Price | None = None) -> Page:
    conclusion = conclusion_of(contents)
    compared, findings = conclusion.compared, conclusion.findings
    return compose(contents, compared, findings, conclusion.reasons, price)


def side_by_side(folder: Path, price: Price | None = None) -> list[Table]:
    """The table of a folder that ``workers`` measured; none of any other folder."""
    if files.is_there(folder / COMPARISON_NAME):
        return []
    stored = [*stored_sessions.each(stored_sessions.folders_in([folder]), [])]
    return _tables_of_workers(stored, price)


def _tables_of_workers(stored: Sequence[Contents], price: Price | None) -> list[Table]:
    """The table of workers side by side; none unless each comparison is of another worker."""
    if len({it.comparison.engine for it in stored}) < len(stored):
        return []
    compared = [statistics.compare(record) for contents in stored for record in contents.records]
    notes = [remark for comparison in compared for remark in remarks(comparison)]
    tables = idle.tables(compared, price, grouped=False)
    return [replace(table, notes=(*table.notes, *notes)) for table in tables]


def page_of_several(stored: Sequence[Contents], price: Price | None = None) -> Page:
    """The page of workers side by side, else of the history of all comparisons."""
    tables = _tables_of_workers(stored, price) if len(stored) > 1 else []
    if tables:
        return replace(compose_history(stored, {}, 0), tables=tables)
    costs = [BY_NAME[name] for name in COSTS]
    sessions = [it for contents in stored for it in stored_sessions.sessions_of(contents, *costs)]
    # A page has the history of one engine: that of most sessions.
    engines = Counter(session.engine for session in sessions)
    engine = max(engines, key=engines.__getitem__, default="")
    trends = _trends([session for session in sessions if session.engine == engine])
    return compose_history(stored, trends, _NEWEST)


def _trends(sessions: Sequence[Session]) -> Trends:
    """The trends of each cost, relative to the commonest revision."""
    anchor = history.commonest(sessions)
    return {
        name: history.trends([it for it in sessions if it.metric == name], anchor)
        for name in COSTS
        if anchor is not None
    }

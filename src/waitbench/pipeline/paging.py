"""Folders of results -> their page."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from waitbench.analysis import history, statistics
from waitbench.analysis.results import Note
from waitbench.model.errors import UsageError
from waitbench.model.metrics import BY_NAME
from waitbench.pipeline import stored_sessions
from waitbench.pipeline.concluding import findings_of
from waitbench.reporting import html, idle
from waitbench.reporting.answer import remarks
from waitbench.reporting.document import Report, Table
from waitbench.reporting.drawing import WARNING
from waitbench.reporting.formats import format_count
from waitbench.reporting.idle import Price
from waitbench.reporting.page import COSTS, compose, compose_history
from waitbench.store.comparisons import COMPARISON_NAME, MEASURE_FIRST, Contents
from waitbench.system import files

_NEWEST = 50
"""Revisions on a page of many comparisons, besides the anchor and those at change points."""


def write(path: Path, roots: Sequence[Path], price: Price | None = None) -> None:
    """Writes the page of the comparison in these folders, or the history of several.

    Raises ``UsageError`` where there is none, and ``HarnessError`` when the disk refuses.
    """
    files.require_writable(path)
    folders, unreadable = stored_sessions.folders_in(roots), list[str]()
    several = [it for it in stored_sessions.each(folders, unreadable) if it.records]
    if not several:
        named = ", ".join(map(str, roots))
        raise UsageError(f"There is no comparison in {named}. {MEASURE_FIRST}")
    page = page_of_several(several, price) if len(folders) > 1 else page_of(several[0], price)
    if unreadable:
        lacking = format_count(len(unreadable), "comparison", "comparisons")
        text = f"{lacking} cannot be read: see what the command printed"
        note = Note(kind="unreadable", level=WARNING, text=text, count=len(unreadable))
        page = replace(page, notes=(*page.notes, note))
    files.write_text(path, html.render(page), named=True)


def page_of(contents: Contents, price: Price | None = None) -> Report:
    return compose(contents, findings_of(contents), price)


def side_by_side(folder: Path, price: Price | None = None) -> list[Table]:
    """The table of a folder that ``workers`` wrote; none of any other."""
    if files.is_there(folder / COMPARISON_NAME):
        return []
    return _of_workers([*stored_sessions.each(stored_sessions.folders_in([folder]), [])], price)


def _of_workers(several: Sequence[Contents], price: Price | None) -> list[Table]:
    """The table of comparisons of a worker each; none of any others."""
    if len({it.comparison.engine for it in several}) < len(several):
        return []
    workers = [statistics.compare(record) for contents in several for record in contents.records]
    notes = [remark for worker in workers for remark in remarks(worker)]
    tables = idle.tables(workers, price, grouped=False)
    return [replace(table, notes=(*table.notes, *notes)) for table in tables]


def page_of_several(several: Sequence[Contents], price: Price | None = None) -> Report:
    """The page of workers side by side, or of the history of all comparisons."""
    tables = _of_workers(several, price) if len(several) > 1 else []
    if tables:
        return replace(compose_history(several, {}, 0), tables=tables)
    metrics = [BY_NAME[name] for name in COSTS]
    sessions = [it for each in several for it in stored_sessions.sessions_of(each, *metrics)]
    engines = Counter(session.engine for session in sessions)
    commonest = max(engines, key=engines.__getitem__, default="")
    sessions = [session for session in sessions if session.engine == commonest]
    anchor = history.commonest(sessions)
    trends = {
        name: history.trends([session for session in sessions if session.metric == name], anchor)
        for name in COSTS
        if anchor is not None
    }
    return compose_history(several, trends, _NEWEST)

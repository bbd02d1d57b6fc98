"""Folders of results -> their page."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from waitbench.analysis import statistics
from waitbench.analysis.results import Note
from waitbench.features import PAGES
from waitbench.model.errors import UsageError
from waitbench.pipeline.concluding import findings_of
from waitbench.reporting import html, idle
from waitbench.reporting.console import make_console
from waitbench.reporting.document import Report, Table
from waitbench.reporting.drawing import WARNING
from waitbench.reporting.findings import remarks
from waitbench.reporting.formats import format_count
from waitbench.reporting.idle import Price
from waitbench.reporting.page import compose, compose_several
from waitbench.store import comparisons
from waitbench.store.comparisons import COMPARISON_NAME, MEASURE_FIRST, StoredComparison
from waitbench.system import files


def write(path: Path, roots: Sequence[Path], price: Price | None = None) -> None:
    """Writes the page of the comparison in these folders, or of several.

    Raises ``UsageError`` where there is none, and ``HarnessError`` when the disk refuses.
    """
    files.require_writable(path)
    folders, unreadable = folders_in(roots), list[str]()
    several = [it for it in each(folders, unreadable) if it.records]
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


def page_of(contents: StoredComparison, price: Price | None = None) -> Report:
    return compose(contents, findings_of(contents), price)


def side_by_side(folder: Path, price: Price | None = None) -> list[Table]:
    """The table of a folder with comparisons of a worker each; none of any other."""
    if files.is_there(folder / COMPARISON_NAME):
        return []
    return _of_workers([*each(folders_in([folder]), [])], price)


def _of_workers(several: Sequence[StoredComparison], price: Price | None) -> list[Table]:
    """The table of comparisons of a worker each; none of any others."""
    if len({it.comparison.engine for it in several}) < len(several):
        return []
    workers = [statistics.compare(record) for contents in several for record in contents.records]
    notes = [remark for worker in workers for remark in remarks(worker)]
    tables = idle.tables(workers, price, grouped=False)
    return [replace(table, notes=(*table.notes, *notes)) for table in tables]


def page_of_several(several: Sequence[StoredComparison], price: Price | None = None) -> Report:
    """The page of workers side by side, or of all comparisons with what features add."""
    tables = _of_workers(several, price) if len(several) > 1 else []
    page = compose_several(several, tables)
    for name in () if tables else PAGES:
        page = import_module(name).extend(page, several)
    return page


def folders_in(roots: Sequence[Path]) -> list[Path]:
    """The folders of comparisons, in some folders and below, by absolute paths without links.

    Raises ``UsageError`` for a missing folder.
    """
    results = []
    for root in roots:
        if not files.is_folder(root):
            raise UsageError(f"There is no folder {str(root)!r}. {MEASURE_FIRST}")
        for folder, below, names in os.walk(root.resolve()):
            below.sort()
            if COMPARISON_NAME in names:
                results.append(Path(folder))
    return list(dict.fromkeys(results))


def each(folders: Sequence[Path], unreadable: list[str]) -> Iterator[StoredComparison]:
    """Reads comparisons; prints the errors of unreadable ones, and adds them to a list."""
    errors = make_console(stderr=True)
    for folder in folders:
        try:
            contents = comparisons.resume(folder)
        except UsageError as error:
            unreadable.append(f"{folder} is left out: {error}")
            continue
        if contents is not None:
            yield contents
            if contents.cut_off:
                errors.print(contents.cut_off, soft_wrap=True)
    for why in unreadable:
        errors.print(why, soft_wrap=True)

"""Finds and reads all comparisons below some folders, and tabulates those of workers."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from waitbench.analysis import statistics
from waitbench.model.errors import UsageError
from waitbench.reporting import idle
from waitbench.reporting.console import make_console
from waitbench.reporting.document import Table
from waitbench.reporting.findings import remarks
from waitbench.store import comparisons
from waitbench.store.comparisons import COMPARISON_NAME, MEASURE_FIRST, StoredComparison
from waitbench.system import files


def table_of_workers(folder: Path, price: float | None = None) -> list[Table]:
    """The idle costs of several workers, if a folder has one comparison for each; else empty."""
    if files.is_there(folder / COMPARISON_NAME):
        return []
    several = list(read_each(folders_in([folder]), []))
    engines = {contents.comparison.engine for contents in several}
    is_named = not engines.isdisjoint(contents.folder.name for contents in several)
    if len(engines) < len(several) or not is_named:
        return []
    workers = [statistics.compare(record) for contents in several for record in contents.records]
    notes = [remark for worker in workers for remark in remarks(worker)]
    tables = idle.tables(workers, price, grouped=False)
    return [replace(table, notes=(*table.notes, *notes)) for table in tables]


def folders_in(roots: Sequence[Path]) -> list[Path]:
    """The paths of the folders of comparisons, among or below ``roots``. Raises ``UsageError``."""
    results = []
    for root in roots:
        if not files.is_folder(root):
            raise UsageError(f"There is no folder {str(root)!r}. {MEASURE_FIRST}")
        for folder, below, names in os.walk(root.resolve()):
            below.sort()
            if COMPARISON_NAME in names:
                results.append(Path(folder))
    return list(dict.fromkeys(results))


def read_each(folders: Sequence[Path], unreadable: list[str]) -> Iterator[StoredComparison]:
    """Reads comparisons. Prints the errors of unreadable folders, and adds them to a list."""
    errors = make_console(stderr=True)
    for folder in folders:
        try:
            contents = comparisons.read_begun(folder)
        except UsageError as error:
            unreadable.append(f"{folder} is left out: {error}")
            continue
        if contents is not None:
            yield contents
            if contents.cut_off:
                errors.print(contents.cut_off, soft_wrap=True)
    for message in unreadable:
        errors.print(message, soft_wrap=True)

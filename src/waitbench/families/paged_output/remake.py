"""Request -> the published tables of regular and paged output, both sides in one sitting."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from waitbench.families import presenting
from waitbench.families.paged_output import charts, paging, tables
from waitbench.families.paged_output.paging import Paging
from waitbench.model.errors import ExitCode, UsageError
from waitbench.reporting.progress import PreparationLog
from waitbench.store import folders

IDLE_S = 10.0


@dataclass(frozen=True, kw_only=True)
class PagingOptions:
    """How much to run."""

    repetitions: int
    largest: int | None
    """No rows with more messages."""


def remake_tables(options: PagingOptions, results: Path | None, output: Console) -> ExitCode:
    """Runs the rows, prints the tables, keeps the figures.

    Raises ``UsageError`` before anything is created, ``HarnessError`` where a run fails.
    """
    rows = _rows(options)
    with folders.removed_if_unused(results), PreparationLog(output, quiet=False) as log:
        folder = folders.new_folder(results, kind=paging.KIND)
        log.about(f"an idle writer, for {IDLE_S:g} s")
        idle_share = paging.idle_share(IDLE_S)
        found = Paging(paging.measure(rows, options.repetitions, log.about), idle_share)
    paging.keep(folder, found)
    presenting.show(tables.tables(found), charts.figures(found), folder, paging.KIND, output)
    return ExitCode.OK


def _rows(options: PagingOptions) -> list[paging.Row]:
    if options.repetitions < 1:
        raise UsageError(f"--repetitions {options.repetitions}: at least 1.")
    rows = [
        row for row in paging.ROWS if options.largest is None or row.messages <= options.largest
    ]
    if not rows:
        smallest = min(row.messages for row in paging.ROWS)
        raise UsageError(f"--largest {options.largest}: the smallest row has {smallest:,}.")
    return rows

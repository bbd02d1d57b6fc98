"""``paged-output``: the published tables of regular and paged output, both sides in one sitting."""

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from waitbench.cli import charts
from waitbench.cli.progress import PreparationLog
from waitbench.families.paged_output import paging
from waitbench.model.errors import ExitCode, UsageError
from waitbench.store import results
from waitbench.system import machine

IDLE_S = 10.0


@dataclass(frozen=True)
class PagingOptions:
    """How much to run."""

    repetitions: int
    largest: int | None
    """No rows with more messages."""
    folder: Path


def paged_output(options: PagingOptions, output: Console) -> ExitCode:
    """Runs the rows, prints the tables, keeps the figures. Raises ``HarnessError``."""
    if options.repetitions < 1:
        raise UsageError(f"--repetitions {options.repetitions}: at least 1.")
    if options.largest is not None and options.largest < min(row.messages for row in paging.ROWS):
        raise UsageError(f"--largest {options.largest}: the smallest row has {min(row.messages for row in paging.ROWS):,}.")
    say = PreparationLog(output, quiet=False)
    with say:
        say.about(f"an idle writer, for {IDLE_S:g} s")
        idle = paging.idle_share(IDLE_S)
        measured = paging.measure(paging.ROWS, options.repetitions, options.largest, say.about)
    options.folder.mkdir(parents=True, exist_ok=True)
    data = {"machine": machine.describe(), "idle_share": idle, "rows": paging.as_plain(measured)}
    results.write_safely(options.folder / results.PAGING_NAME, json.dumps(data, indent=1))
    charts.show_families(options.folder, results.PAGING_NAME, output)
    return ExitCode.OK

"""``workers``: what workers that are commands cost while they wait, side by side."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.analysis import statistics
from waitbench.analysis.idle import IdleCost
from waitbench.analysis.statistics import Comparison
from waitbench.commands import options
from waitbench.engines import selection
from waitbench.engines.worker import file as worker_file
from waitbench.model.errors import ExitCode, HarnessError, UsageError, masked
from waitbench.model.worker import WorkerFile
from waitbench.pipeline import concluding
from waitbench.pipeline.comparing import run
from waitbench.pipeline.concluding import Output
from waitbench.pipeline.request import Request
from waitbench.reporting import idle
from waitbench.reporting.answer import remarks
from waitbench.reporting.console import make_console, print_tables
from waitbench.reporting.document import Table
from waitbench.reporting.idle import Price
from waitbench.reporting.markdown import render_table
from waitbench.store import folders
from waitbench.system import endings, files
from waitbench.system.installation import called
from waitbench.system.places import RESULTS, WORKERS, shown

EXAMPLES = """
\b
Examples:
  ./waitbench workers                                # what those of workers/ cost: half an hour
  ./waitbench workers workers/queues/rq.toml mine.toml --rounds 5
  ./waitbench workers folder-of-mine --price 0.04/core-hour
"""
FOLDER, NAME = WORKERS, "workers"


def workers(
    of: Annotated[
        Optional[list[Path]],
        typer.Argument(
            metavar="FILE.toml|FOLDER",
            help="Worker files, or folders with some.",
            show_default=shown(WORKERS),
        ),
    ] = None,
    rounds: options.Rounds = 3,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="window=SECONDS",
            help="The window of each worker, instead of that of its file.",
        ),
    ] = [],
    python: options.Python = None,
    price: options.CorePrice = None,
    results: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FOLDER",
            help="Where results go: the table, its chart, and a folder for each worker."
            "\n\nIt must be empty or absent.",
            show_default=f"a new one in {shown(RESULTS)}/",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, only the table.")
    ] = False,
) -> None:
    """Show side by side what workers of worker files cost while they wait.

    One after the other, each in the versions that its file names.
    """
    given, core_price = _read(of or [FOLDER]), options.parsed_price(price)
    for one in given:
        selection.select((), settings, worker=one)
    with folders.claimed(results, (NAME,)) as folder:
        session = WorkersSession(
            like=Request(
                revisions=(),
                settings=tuple(settings),
                python=python,
                rounds=rounds,
                argv=tuple(map(masked, sys.argv[1:])),
            ),
            output=Output(quiet=quiet, progress_only=True),
            folder=folder,
            price=core_price,
        )
        try:
            for one in given:
                session.measure(one)
        except endings.Ended:
            print_tables([session.table()], make_console(stderr=True))
            raise
        print_tables([session.table()], make_console())
        files.write_text(folder / f"{NAME}.md", render_table(session.table()))
        concluding.draw_table(session.table(), folder, NAME)
    raise typer.Exit(ExitCode.FAILED if session.has_failures else ExitCode.OK)


@dataclass(kw_only=True)
class WorkersSession:
    """Workers that are measured one after the other, each in a comparison of its own."""

    like: Request
    """What is asked of each."""
    output: Output
    folder: Path
    price: Price | None = None
    has_failures: bool = False
    rows: list[tuple[str, str, IdleCost | None]] = field(default_factory=list)
    """A version of a worker each, and what it costs where it was measured."""
    remarks: list[str] = field(default_factory=list)

    def measure(self, worker: WorkerFile) -> None:
        """Measures all versions of one; what goes wrong is a remark."""
        request = replace(
            self.like,
            revisions=worker.revisions,
            # Phases are for comparisons.
            scenarios=(worker.name,) if worker.phases else (),
            worker=worker,
            results=self.folder / worker.name,
        )
        try:
            with run(request, self.output) as contents:
                records = contents.records
        except HarnessError as error:
            self.has_failures = True
            self.rows += [(worker.name, version, None) for version in worker.revisions]
            self.remarks.append(f"{worker.name}: {error.reason}")
            return
        for record in records:
            self._add(statistics.compare(record))
        self.has_failures |= any(record.failures for record in records)

    def _add(self, comparison: Comparison) -> None:
        self.rows += idle.costs_of(comparison)
        self.remarks += remarks(comparison)

    def table(self) -> Table:
        """All of them so far."""
        made = idle.side_by_side(self.rows, self.like.rounds, self.price)
        return replace(made, notes=tuple(self.remarks))


def _read(given: Sequence[Path]) -> list[WorkerFile]:
    """The worker files. Raises ``UsageError`` before anything is measured."""
    found: list[WorkerFile] = []
    for path in given:
        if not files.is_folder(path):
            found.append(worker_file.read(path))
            continue
        inside = sorted((*path.glob("*.toml"), *path.glob("*/*.toml")), key=lambda one: one.name)
        if not inside:
            raise UsageError(f"There is no worker file (*.toml) in {str(path)!r}.")
        found += (one for one in map(worker_file.read, inside) if not one.ends_by_itself)
    compare = f"{called('compare')} --worker FILE.toml …"
    for one in found:
        if one.ends_by_itself:
            raise UsageError(
                f"{str(one.path)!r} ends by itself, so it does not wait. Compare its revisions: "
                f"{compare}"
            )
        if not one.revisions:
            raise UsageError(
                f"{str(one.path)!r} does not say which versions to measure. Add a line such as "
                f'versions = ["1.0"], or compare revisions: {compare}'
            )
    for name, count in Counter(one.name for one in found).items():
        if count > 1:
            raise UsageError(f"Two worker files are called {name!r}: rename one.")
    return found

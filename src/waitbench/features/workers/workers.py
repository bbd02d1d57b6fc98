"""``workers``: measures the workers of worker files, and shows a table of their idle costs."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.commands import options
from waitbench.engines.worker import file as worker_file
from waitbench.model.errors import ExitCode, HarnessError, UsageError, masked
from waitbench.model.worker import WorkerFile
from waitbench.pipeline import gathering
from waitbench.pipeline.comparing import run
from waitbench.pipeline.request import Request
from waitbench.reporting.console import make_console, print_tables
from waitbench.reporting.markdown import render_table
from waitbench.reporting.output import Output
from waitbench.store import folders
from waitbench.system import files, shutdown
from waitbench.system.installation import called
from waitbench.system.paths import RESULTS, WORKERS, shown

EXAMPLES = """
\b
Examples:
  ./waitbench workers                                # all of workers/: half an hour
  ./waitbench workers workers/queues/rq.toml mine.toml --rounds 5
  ./waitbench workers folder-of-mine --price 0.04/core-hour
"""
NAME = "workers"


def workers(
    paths: Annotated[
        Optional[list[Path]],
        typer.Argument(
            metavar="FILE.toml|FOLDER",
            help="Worker files, or folders with some.",
            show_default=shown(WORKERS),
        ),
    ] = None,
    rounds: options.Rounds = 3,
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
    """Show the idle costs of workers from worker files in one table.

    Workers are measured one after the other, in the versions that their files name.
    """
    workers = _read(paths or [WORKERS])
    request = Request(
        revisions=(),
        python=python,
        rounds=rounds,
        resume=None,
        argv=tuple(map(masked, sys.argv[1:])),
    )
    output = Output(quiet=quiet, progress_only=True)
    errors, failures = list[str](), list[str]()
    with folders.claimed(results, (NAME,)) as folder:
        try:
            for worker in workers:
                try:
                    with run(_request_of(worker, request, folder), output) as contents:
                        for record in contents.records:
                            failures += (f"{worker.name}: {it.message}" for it in record.failures)
                except HarnessError as error:
                    errors.append(f"{worker.name}: {error.reason}")
        except shutdown.Interrupted:
            print_tables(gathering.table_of_workers(folder, price), make_console(stderr=True))
            raise
        tables = gathering.table_of_workers(folder, price)
        if not tables:
            raise HarnessError("\n".join((*errors, *failures)))
        table = replace(tables[0], notes=(*tables[0].notes, *errors))
        print_tables([table], make_console())
        files.write_text(folder / f"{NAME}.md", render_table(table))
        # Imported late: matplotlib takes a second.
        from waitbench.reporting import charts

        charts.save(charts.draw_table(table), folder, NAME)
    raise typer.Exit(ExitCode.FAILED if errors or failures else ExitCode.OK)


def _request_of(worker: WorkerFile, request: Request, folder: Path) -> Request:
    """The request for all versions of a worker that idles, without messages or phases."""
    scenarios, results = () if worker.scenarios else (worker.name,), folder / worker.name
    idle = replace(request, scenarios=scenarios, results=results)
    return replace(idle, worker=worker, revisions=worker.revisions)


def _read(paths: Sequence[Path]) -> list[WorkerFile]:
    """Reads worker files, and those in folders. Raises ``UsageError``."""
    workers: list[WorkerFile] = []
    for path in paths:
        if not files.is_folder(path):
            workers.append(worker_file.read(path))
            continue
        inside = sorted((*path.glob("*.toml"), *path.glob("*/*.toml")), key=lambda it: it.name)
        if not inside:
            raise UsageError(f"There is no worker file (*.toml) in {str(path)!r}.")
        workers += (it for it in map(worker_file.read, inside) if not it.ends_by_itself)
    compare = f"{called('compare')} --worker FILE.toml …"
    for worker in workers:
        if worker.ends_by_itself:
            raise UsageError(
                f"{str(worker.path)!r} ends by itself, so it does not wait. Compare its revisions: "
                f"{compare}"
            )
        if not worker.revisions:
            raise UsageError(
                f"{str(worker.path)!r} does not say which versions to measure. Add a line such as "
                f'versions = ["1.0"], or compare revisions: {compare}'
            )
    for name, count in Counter(worker.name for worker in workers).items():
        if count > 1:
            raise UsageError(f"Two worker files are called {name!r}: rename one.")
    return workers

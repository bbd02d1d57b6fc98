"""``workers``: what workers that are commands cost while they wait, side by side."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.analysis import statistics
from waitbench.analysis.idle import IdleCost, idle_cost
from waitbench.commands import options
from waitbench.engines import selection
from waitbench.engines.worker import file as worker_file
from waitbench.model.errors import ExitCode, HarnessError, UsageError, masked
from waitbench.model.record import Record
from waitbench.model.run import BY_PROC, RESTARTED, UNANSWERED
from waitbench.model.worker import WorkerFile
from waitbench.pipeline.comparing import run
from waitbench.pipeline.concluding import Output
from waitbench.pipeline.request import Request
from waitbench.reporting.console import make_console, print_tables
from waitbench.reporting.document import Heading, Table
from waitbench.reporting.formats import NOTHING
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
  ./waitbench workers folder-of-mine --markdown workers.md
"""
FOLDER = WORKERS


def workers(
    of: Annotated[
        Optional[list[Path]],
        typer.Argument(
            metavar="FILE.toml|FOLDER",
            help="Worker files, or folders with some.",
            show_default=shown(WORKERS),
        ),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(metavar="N", help="Runs of each version of each worker, after one warm-up."),
    ] = 3,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="window=SECONDS",
            help="How long each is judged, instead of what its file says.",
        ),
    ] = [],
    python: options.Python = None,
    price: options.CorePrice = None,
    markdown: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE",
            help="Write the table as Markdown, too.",
        ),
    ] = None,
    results: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FOLDER",
            help="Where results go: a folder of its name for each worker."
            "\n\nIt must be empty or absent.",
            show_default=f"new ones in {shown(RESULTS)}/",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, only the table.")
    ] = False,
) -> None:
    """Set workers side by side that are commands: what each costs while it waits.

    One after the other, each in the versions that its file names.
    """
    given = _read(of or [FOLDER])
    for one in given:
        selection.select((), settings, worker=one)
    if rounds < 1:
        raise UsageError(f"--rounds {rounds}: must be at least 1.")
    if markdown is not None:
        files.require_writable(markdown)
    session = WorkersSession(
        like=Request(
            revisions=(),
            settings=tuple(settings),
            python=python,
            rounds=rounds,
            argv=tuple(map(masked, sys.argv[1:])),
        ),
        output=Output(quiet=quiet, progress_only=True),
        results=results,
        price=options.parsed_price(price),
    )
    try:
        with nullcontext() if results is None else folders.claimed(results):
            for one in given:
                session.measure(one)
    except endings.Ended:
        print_tables([session.table()], make_console(stderr=True))
        raise
    print_tables([session.table()], make_console())
    if markdown is not None:
        files.write_text(markdown, render_table(session.table()))
    raise typer.Exit(ExitCode.FAILED if session.has_failures else ExitCode.OK)


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one version of a worker costs while it waits, or why that is not known."""

    worker: str
    version: str
    cost: IdleCost | None = None
    late_s: float | None = None
    remark: str = ""

    @property
    def share(self) -> float | None:
        """The part of a core that it uses; ``None`` where there was no measurement."""
        return None if self.cost is None else self.cost.cores.value


_Column = tuple[str | Heading, Callable[[Row], str]]
"""A heading, and what stands below it of each row."""


def _number(heading: str, short: str | None, write: Callable[[IdleCost], str]) -> _Column:
    """A column of a cost, which a row may lack."""

    def cell(row: Row) -> str:
        return NOTHING if row.cost is None else write(row.cost)

    return Heading(heading, short=short, is_left=False), cell


def _late(row: Row) -> str:
    return NOTHING if row.late_s is None else f"{row.late_s * 1e3:.1f} ms"


def _memory(cost: IdleCost) -> str:
    return NOTHING if cost.memory_bytes is None else f"{cost.memory_bytes / 1e6:.1f} MB"


def _rate(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


COLUMNS: tuple[_Column, ...] = (
    ("worker", attrgetter("worker")),
    ("version", attrgetter("version")),
    _number("% of a core", "% of a\ncore", lambda cost: f"{100 * cost.cores.value:.3f}"),
    _number("wake-ups/s", "wake-\nups/s", lambda cost: _rate(cost.rates.get("wakeups"))),
    _number("system calls/s", "system\ncalls/s", lambda cost: _rate(cost.rates.get("syscalls"))),
    _number("memory", None, _memory),
    (Heading("lateness after silence", short="late", is_left=False), _late),
)


@dataclass(kw_only=True)
class WorkersSession:
    """Workers that are measured one after the other, each in a comparison of its own."""

    like: Request
    """What is asked of each."""
    output: Output
    results: Path | None
    price: Price | None = None
    has_failures: bool = False
    rows: list[Row] = field(default_factory=list)

    def measure(self, worker: WorkerFile) -> None:
        """Measures all versions of one; what goes wrong is in its rows."""
        request = replace(
            self.like,
            revisions=worker.revisions,
            worker=str(worker.path),
            results=None if self.results is None else self.results / worker.name,
        )
        try:
            with run(request, self.output) as contents:
                records = contents.records
        except HarnessError as error:
            self.has_failures = True
            self.rows += [
                Row(worker=worker.name, version=one, remark=error.reason)
                for one in worker.revisions
            ]
            return
        self.rows += [row for record in records for row in _rows(record)]
        self.has_failures |= any(record.failures for record in records)

    def table(self) -> Table:
        """All of them so far, the dearest first; those that failed at the end."""
        rows = sorted(self.rows, key=lambda row: -1.0 if row.share is None else row.share)[::-1]
        columns, price = [*COLUMNS], self.price
        if price is not None:
            columns.append(
                _number("money a month", "money\na month", lambda c: price.written(price.of(c)))
            )
        if any(row.remark for row in rows):
            columns.append((Heading("remark"), attrgetter("remark")))
        return Table(
            title="What an idle worker costs",
            header=tuple(heading for heading, _ in columns),
            names=2,
            rows=tuple(tuple(cell(row) for _, cell in columns) for row in rows),
        )


def _rows(record: Record) -> Iterator[Row]:
    comparison = statistics.compare(record)
    for row in comparison.rows:
        late = row.estimates.get("latency-p50")
        yield Row(
            worker=record.scenario,
            version=row.label,
            cost=idle_cost(row, comparison),
            late_s=late.value if late else None,
            remark="; ".join(_remarks(row)),
        )


def _remarks(row: statistics.Row) -> Iterator[str]:
    if not row.runs:
        yield from (f"{reason}: {last.message}" for reason, (*_, last) in row.failures.items())
    if RESTARTED in row.marks:
        yield f"{row.estimates['restarts'].value:.3g} processes began while it waited"
    if UNANSWERED in row.marks:
        yield "the poke was not answered"
    if BY_PROC in row.marks:
        yield "read from /proc: what ended meanwhile is missing"
    if row.is_window_too_short:
        yield "the window is too short"


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

"""Formats costs of running processes, and decisions about them."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from waitbench.analysis.results import Note
from waitbench.features.look.observe import Observed, Target, Total, find, sum_of
from waitbench.features.look.windows import Decision
from waitbench.model.errors import UsageError
from waitbench.model.verdicts import GateStatus
from waitbench.pipeline.extension import extensions
from waitbench.reporting import forest, notes
from waitbench.reporting.console import print_report
from waitbench.reporting.document import Contribution, Heading, Report, Table
from waitbench.reporting.drawing import FAILURE, WARNING, shorten
from waitbench.reporting.formats import format_count, format_digits, format_quantity
from waitbench.reporting.idle import figure_column
from waitbench.system.machine import OTHER_CORES

_MOST_PROCESSES, _MOST_THREADS = 5, 3
"""Rows of processes, and of threads of a process; the others share a row."""
_WIDTH = 38
"""The most characters of a name."""


def explain(target: Target, seconds: float) -> list[Contribution]:
    """Samples for ``seconds`` which threads wake up, and in which functions."""

    def pids() -> Sequence[int]:
        try:
            return sorted(find(target.name).pids)
        except UsageError:
            return ()

    return [kind().explain_running(pids, seconds) for kind in extensions()]


def notes_of(decision: Decision) -> list[Note]:
    """Notes on a decision, its outcome first."""
    shown = [*notes.of_verdict(decision.verdict)]
    if decision.ended:
        text = f"NOT MEASURED: {decision.ended} ended before an answer was certain"
        shown = [Note(kind=notes.OUTCOME, level=FAILURE, text=text)]
    elif decision.verdict.outcome is GateStatus.INCONCLUSIVE:
        text = "more windows may give an answer (--for, seconds=)"
        shown.append(Note(kind="longer", level="", text=text))
    if decision.other_cores > OTHER_CORES:
        text = f"other programs used {format_digits(decision.other_cores, 2)} cores meanwhile"
        shown.append(Note(kind=notes.DISTURBED, level=WARNING, text=text))
    return shown


def print_decision(decision: Decision, console: Console) -> None:
    judgements = decision.verdict.judgements
    is_limit = all(it.limit for it in judgements)
    columns = forest.LIMIT_COLUMNS if is_limit else forest.GATE_COLUMNS
    title = " → ".join(decision.labels)
    table = forest.tabulate("", judgements, columns)
    report = Report(
        title=title, facts=(decision.windows,), notes=notes_of(decision), tables=[table]
    )
    print_report(report, console)
    console.print()


def table(total: Total) -> Table:
    rows = [("in all", total), *_rows(total)]
    costs = [row for _, row in rows]
    count = format_count(len(total.parts), "process", "processes")
    return Table(
        f"what it costs now · {count} · {format_quantity(total.seconds, 'second')}",
        (
            (Heading("who"), [name for name, _ in rows]),
            figure_column("% core", [it.cores for it in costs], "core"),
            figure_column("wakes/s", [it.wakeups_per_s for it in costs]),
            figure_column("calls/s", [it.syscalls_per_s for it in costs]),
            figure_column("memory", [it.memory_bytes for it in costs], "byte"),
        ),
        total.notes,
    )


def sum_up(cores: float, times: int, price: float | None) -> str:
    """A sentence on the cores that ``times`` equal workers use, and on their price."""
    workers = f"{times:,} of these keep" if times > 1 else "This keeps"
    text = f"{workers} {format_digits(cores * times, 2)} cores busy"
    a_month = f", for {format_digits(cores * times * price, 2)} a month" if price else ""
    return f"{text}{a_month}."


def _rows(cost: Observed) -> Iterator[tuple[str, Observed]]:
    for process in _shown(cost, _MOST_PROCESSES, "processes"):
        # An argument may be the source of a program, with many lines.
        yield shorten(" ".join(f"{process.id or ''} {process.name}".split()), _WIDTH), process
        if len(process.parts) > 1 and process.id:
            for thread in _shown(process, _MOST_THREADS, "threads"):
                yield f"  {' '.join(thread.name.split())}", thread


def _shown(cost: Observed, most: int, plural: str) -> Iterator[Observed]:
    """The busiest parts, then the sum of the others."""
    # If a single part is left, it takes the row of the others.
    most += len(cost.parts) == most + 1
    yield from cost.parts[:most]
    if rest := cost.parts[most:]:
        yield sum_of(rest, f"{len(rest)} other {plural}")

"""``unit``: one unit of a comparison, for a worker: its order comes by stdin. No user types it."""

import json
import os
import signal
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from waitbench.cluster import JOURNAL_MARK, MACHINE_REFUSED, RESULTS, WHEELS
from waitbench.cluster.orders import Order
from waitbench.execution.measure import Measurer
from waitbench.model.errors import HarnessError, MachineError
from waitbench.model.record import Record
from waitbench.model.run import Result
from waitbench.pipeline.measuring import RunRecorder
from waitbench.pipeline.preparation import Prepared, prepare
from waitbench.pipeline.resuming import recording
from waitbench.reporting.console import make_console
from waitbench.reporting.progress import PreparationLog, RunProgress
from waitbench.store import journal
from waitbench.store.comparisons import COMPARISON_NAME
from waitbench.system import locks, variables
from waitbench.system.places import Cache
from waitbench.system.streams import printable

_WIDE = 10_000
"""So that no line of what is said is broken."""


def unit(
    folder: Annotated[Path, typer.Argument(help="Has the wheels; gets the results.")],
    cache: Annotated[Path, typer.Option(help="Where environments are kept.")],
) -> None:
    """Carry out one unit of a comparison. Its order is the first line of stdin."""
    try:
        _carry_out(folder, cache)
    except HarnessError as error:
        # As it is: whoever wanted the unit says who could not do it.
        print(printable(str(error)), file=sys.stderr)
        refused = MACHINE_REFUSED if isinstance(error, MachineError) else error.exit_code
        raise typer.Exit(refused) from error


def _carry_out(folder: Path, cache: Path) -> None:
    line = sys.stdin.readline()
    _end_with_stdin()
    results = folder / RESULTS
    results.mkdir()
    console = make_console(file=sys.stdout, width=_WIDE)
    with locks.preparing():
        order = Order.decode(line, folder / WHEELS, Cache(cache))
        variables.pass_on(order.passed_variables)
        prepared = prepare(order.request, console, PreparationLog(console, quiet=False))
    settings = order.measuring.settings(order.request)
    with recording(prepared, results, settings) as records:
        for record in records.values():
            # A journal may come to stand beside those of other machines.
            record.machine = prepared.context.machine
        _tell(json.dumps(json.loads((results / COMPARISON_NAME).read_text("utf-8"))))
        console.print("waiting for other measurements of this machine …")
        with locks.measuring():
            _measure(order, prepared, records, results, console)
        for record in records.values():
            record.machine = None  # its own folder says so of all


def _measure(
    order: Order, prepared: Prepared, records: dict[str, Record], folder: Path, console: Console
) -> None:
    progress = RunProgress(console, quiet=False)

    def recorder(measurer: Measurer) -> _TellingRecorder:
        extras = order.measuring.extras.at_work(order.request, measurer, folder, progress)
        return _TellingRecorder(folder, progress, extras.add)

    gate = replace(order.measuring.gate, budget_s=order.budget_s)
    replace(order.measuring, gate=gate).measure(prepared, records, recorder)


@dataclass(frozen=True)
class _TellingRecorder(RunRecorder):
    """Observes a session, and tells each line that it adds to a journal."""

    def keep(self, record: Record, result: Result) -> None:
        path = self.folder / f"{record.scenario}{journal.SUFFIX}"
        before = path.stat().st_size if path.exists() else 0
        super().keep(record, result)
        with path.open("rb") as file:
            file.seek(before)
            for line in file:
                _tell(line.decode().rstrip("\n"))


def _tell(line: str) -> None:
    print(JOURNAL_MARK + line, flush=True)


def _end_with_stdin() -> None:
    """Ends this process, in order, when its stdin ends: whoever wanted the unit is gone."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1 << 10):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()

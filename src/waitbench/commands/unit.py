"""``unit``: one unit of a comparison, for a worker: its order comes by stdin. No user types it."""

import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import IO, Annotated, cast

import typer

from waitbench.cluster.messages import Lines, RemoteRunRecorder, Teller
from waitbench.cluster.orders import Order
from waitbench.cluster.units import MACHINE_REFUSED, RESULTS, WHEELS
from waitbench.execution.measure import Measurer
from waitbench.model.errors import HarnessError, MachineError
from waitbench.model.record import Record
from waitbench.pipeline.preparation import Prepared, prepare
from waitbench.pipeline.resuming import recording
from waitbench.reporting.console import make_console
from waitbench.reporting.progress import PreparationLog
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
    teller = Teller(sys.stdout)
    line = sys.stdin.readline()
    _end_with_stdin()
    results = folder / RESULTS
    results.mkdir()
    with locks.preparing():
        order = Order.decode(line, folder / WHEELS, Cache(cache))
        variables.pass_on(order.passed_variables)
        console = make_console(file=cast(IO[str], Lines(teller)), width=_WIDE)
        prepared = prepare(order.request, console, PreparationLog(console, quiet=False))
    settings = order.measuring.settings(order.request)
    with recording(prepared, results, settings) as records:
        teller.begun(prepared.context, settings, list(records.values()))
        teller.about("waiting for other measurements of this machine")
        with locks.measuring():
            _measure(order, prepared, records, results, teller)


def _measure(
    order: Order, prepared: Prepared, records: dict[str, Record], folder: Path, teller: Teller
) -> None:
    def keeper(measurer: Measurer) -> RemoteRunRecorder:
        extras = order.measuring.extras.at_work(order.request, measurer, folder, teller)
        return RemoteRunRecorder(folder, teller, extras.add)

    gate = replace(order.measuring.gate, budget_s=order.budget_s)
    replace(order.measuring, gate=gate).measure(prepared, records, keeper)


def _end_with_stdin() -> None:
    """Ends this process, in order, when its stdin ends: whoever wanted the unit is gone."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1 << 10):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()

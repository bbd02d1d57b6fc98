"""The journal of a scenario: one line for each run, on the disk before the next run starts.

A line costs the same whether it is the 1st or the 1,000th. The first line says what holds for all
runs of the scenario; each other one is a run. A line that a crash cut off is ignored on reading,
and removed before the next is written.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from waitbench.model.errors import HarnessError
from waitbench.model.record import Context, Record
from waitbench.model.run import Measurement, Outcome, Result
from waitbench.store.formats import format_of, plain_run, plain_scenario, read_run, read_scenario
from waitbench.store.plain import parse
from waitbench.system import files

SUFFIX = ".runs.jsonl"


def append(path: Path, record: Record, result: Result) -> None:
    """Adds a run, and in a new journal its scenario before it. Raises ``HarnessError``."""
    if _mend(path) == 0:
        files.append_line(path, json.dumps(plain_scenario(record)))
    files.append_line(path, json.dumps(plain_run(result, record.metrics)))


def read(path: Path, context: Context) -> Record | None:
    """The record in a journal; ``None`` where there is none, or not even its first line is whole.

    Raises ``OSError``, and as ``formats`` says where it is not a journal of ours.
    """
    # What follows the last line break was cut off.
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    if not lines:
        return None
    scenario, *runs = map(parse, lines)
    format_of(scenario)
    record = read_scenario(scenario, context)
    merge(record, map(read_run, runs))
    return record


def joined(older: Record, newer: Record) -> Record:
    """A scenario's file and the journal that continues it, as one record."""
    known = {metric.key for metric in newer.metrics}
    record = replace(
        newer,
        metrics=(*newer.metrics, *(m for m in older.metrics if m.key not in known)),
        measurements=list(older.measurements),
        outcomes=list(older.outcomes),
    )
    merge(record, [*newer.measurements, *newer.outcomes])
    return record


def merge(record: Record, later: Iterable[Result]) -> None:
    """Adds runs to a record. A later result of the same run replaces the earlier one.

    So does a later measurement of the same round: half a round that an interruption left is
    measured anew.
    """
    results: Sequence[Result] = [*record.measurements, *record.outcomes]
    merged = {_identity(result): result for result in results}
    measured = {(run.label, run.round): _identity(run) for run in record.measurements}
    for result in later:
        of_round, identity = (result.label, result.round), _identity(result)
        if isinstance(result, Measurement):
            merged.pop(measured.get(of_round, identity), None)
            measured[of_round] = identity
        elif measured.get(of_round) == identity:
            # What was set aside is not a measurement any more, and stays when another one comes.
            del measured[of_round]
        merged.pop(_identity(result), None)
        merged[_identity(result)] = result
    record.measurements[:] = [r for r in merged.values() if isinstance(r, Measurement)]
    record.outcomes[:] = [r for r in merged.values() if isinstance(r, Outcome)]


def _identity(result: Result) -> tuple[str, int, int, str]:
    return result.label, result.round, result.position, result.started_at


def _mend(path: Path) -> int:
    """Removes a line that was cut off. Returns the size in bytes. Raises ``HarnessError``."""
    try:
        with path.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            if file.read() in (b"", b"\n"):
                return size
            file.seek(0)
            return file.truncate(file.read().rfind(b"\n") + 1)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise HarnessError(f"{path} cannot be added to: {error.strerror}.") from error

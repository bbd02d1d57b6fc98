"""Traces: the workers' system calls by name and phase, one CSV file a scenario."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import msgspec

from waitbench.model.metrics import Count, Finite
from waitbench.model.run import Calls, Trace
from waitbench.store.plain import reading
from waitbench.system import files

SUFFIX = ".trace.csv"
"""What follows the scenario in the file's name."""


class _Row(msgspec.Struct):
    revision: str
    phase: str
    phase_s: Finite
    call: str
    count: Count
    cpu_s: Finite


def write(path: Path, traces: Sequence[Trace]) -> None:
    """Writes traces to a file, times to the nanosecond. Raises ``HarnessError``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_Row.__struct_fields__)
    for trace in traces:
        for (phase, call), made in trace.calls.items():
            lasted_s = trace.lasted_s[phase]
            row = (trace.label, phase, f"{lasted_s:.9f}", call, made.count, f"{made.cpu_s:.9f}")
            writer.writerow(row)
    files.write_text(path, text.getvalue())


def of(folder: Path, scenario: str) -> list[Trace]:
    """The traces of a scenario in a folder of results; none, if it was not traced."""
    path = folder / f"{scenario}{SUFFIX}"
    return read(path) if path.exists() else []


def read(path: Path) -> list[Trace]:
    """The traces of a file. Raises ``UsageError`` where it is not one of ours."""
    lasted_s: dict[str, dict[str, float]] = {}
    calls: dict[str, dict[tuple[str, str], Calls]] = {}
    with reading(path), path.open(newline="", encoding="utf-8") as file:
        for row in msgspec.convert(list(csv.DictReader(file)), list[_Row], strict=False):
            lasted_s.setdefault(row.revision, {})[row.phase] = row.phase_s
            made = Calls(count=row.count, cpu_s=row.cpu_s)
            calls.setdefault(row.revision, {})[row.phase, row.call] = made
    return [Trace(label=label, lasted_s=lasted_s[label], calls=calls[label]) for label in calls]

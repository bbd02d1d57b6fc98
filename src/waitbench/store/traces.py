"""Traces: the workers' system calls by name and phase, one CSV file a scenario."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from waitbench.model.run import Calls, Trace
from waitbench.store.plain import as_number, expect, reading
from waitbench.system import files

SUFFIX = ".trace.csv"
"""What follows the scenario in the file's name."""


def write(path: Path, traces: Sequence[Trace]) -> None:
    """Writes traces to a file, times to the nanosecond. Raises ``HarnessError``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["revision", "phase", "phase_s", "call", "count", "cpu_s"])
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
        for row in csv.DictReader(file):
            label, phase = row["revision"], row["phase"]
            lasted_s.setdefault(label, {})[phase] = as_number(float(row["phase_s"]))
            made = Calls(count=expect(int(row["count"]), int), cpu_s=as_number(float(row["cpu_s"])))
            calls.setdefault(label, {})[phase, row["call"]] = made
    return [Trace(label=label, lasted_s=lasted_s[label], calls=calls[label]) for label in calls]

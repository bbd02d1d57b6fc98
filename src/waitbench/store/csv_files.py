"""CSV files: all runs of a comparison in tidy form, and what was observed besides.

One of all runs; and for each scenario one of what its workload observed.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import convert

from waitbench.model.metrics import Finite
from waitbench.model.record import Record
from waitbench.model.run import Measurement, Result
from waitbench.store.plain import reading
from waitbench.system import files

RUNS_NAME = "runs.csv"
SAMPLES_SUFFIX = ".samples.csv"
"""What follows the scenario in a file's name."""

_RUN_COLUMNS = ("scenario", "revision", "round", "position", "started_at", "outcome", "marks")


def write_runs(folder: Path, records: Sequence[Record]) -> None:
    """Writes ``runs.csv``: one row a run, whether it gave a measurement or not.

    Raises ``HarnessError`` when the disk refuses.
    """
    _write(folder / RUNS_NAME, *table(records))


def table(records: Sequence[Record]) -> tuple[list[str], list[Mapping[str, Any]]]:
    """The columns of ``runs.csv`` and its rows: a row lacks what its run does not have."""
    keys = dict.fromkeys(metric.key for record in records for metric in record.metrics)
    rows = [row for record in records for row in _run_rows(record)]
    return [*_RUN_COLUMNS, *keys], rows


def write_samples(folder: Path, record: Record) -> None:
    """Writes ``<scenario>.samples.csv`` where there are samples: one row each.

    Raises ``HarnessError`` when the disk refuses.
    """
    rows = [
        # To the microsecond where they are seconds, and no shorter than large counts need.
        {"revision": run.label, "round": run.round, **{k: f"{v:.9g}" for k, v in sample.items()}}
        for run in record.measurements
        for sample in run.samples
    ]
    if rows:
        names = sorted({name for run in record.measurements for s in run.samples for name in s})
        path = folder / f"{record.scenario}{SAMPLES_SUFFIX}"
        _write(path, ["revision", "round", *names], rows)


def add_samples(folder: Path, record: Record) -> None:
    """Gives a record's measurements their samples, where there is a file of them.

    Raises ``UsageError`` where that file is not one of ours.
    """
    path = folder / f"{record.scenario}{SAMPLES_SUFFIX}"
    if path.exists():
        samples = _read_samples(path)
        record.measurements[:] = [
            replace(run, samples=tuple(samples[run.label, run.round]))
            for run in record.measurements
        ]


def _read_samples(path: Path) -> Mapping[tuple[str, int], list[Mapping[str, float]]]:
    """By revision and round, in order."""
    samples: dict[tuple[str, int], list[Mapping[str, float]]] = defaultdict(list)
    with reading(path), path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            run = row.pop("revision"), int(row.pop("round"))
            values = {name: text for name, text in row.items() if text}
            samples[run].append(convert(values, dict[str, Finite], strict=False))
    return samples


def _run_rows(record: Record) -> Iterator[Mapping[str, Any]]:
    runs: list[Result] = [*record.measurements, *record.outcomes]
    for run in sorted(runs, key=lambda run: (run.round, run.position)):
        row = {
            "scenario": record.scenario,
            "revision": run.label,
            "round": run.round,
            "position": run.position,
            "started_at": run.started_at,
        }
        if isinstance(run, Measurement):
            yield {**row, "outcome": "ok", "marks": " ".join(run.marks), **run.metrics}
        else:
            yield {**row, "outcome": run.reason}


def _write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    text = io.StringIO()
    # A metric that the scenario does not declare has no column, as it has no place in the JSON.
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_text(path, text.getvalue())

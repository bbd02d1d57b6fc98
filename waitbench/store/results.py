"""Measurements <-> files. The only module that knows the file format.

``<scenario>.json`` is a superset of hyperfine's exports: schema 2 (``schema_version``, ``metadata``, per-run ``measurements``,
``summary``) and, in the same objects, the keys of 1.x (``mean``, ``times``, …), so that hyperfine's own scripts of either line
read it. ``runs.csv`` is the same, one row a run. Every file is written under another name and renamed, so that a reader,
or a crash, never meets half of one.
"""

import csv
import io
import json
import os
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from waitbench.execution.measure import Measurement, Outcome
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.metrics import METRICS, Metric

SCHEMA_VERSION = 2
CSV_NAME = "runs.csv"
LOAD_NAME = "load.json"
"""Of ``runner.py load``."""
PAGING_NAME = "paging.json"
"""Of ``runner.py paged-output``."""
SAMPLES_SUFFIX = ".samples.csv"
"""Of the file that holds what a scenario's workload observed besides; one row each, with its revision and round."""
VERDICT_NAME = "verdict.json"
"""Of a check; its schema is in docs/verdict.md."""
_NO_SCENARIOS = (VERDICT_NAME, LOAD_NAME, PAGING_NAME)


@dataclass(frozen=True)
class Context:
    """What holds for a whole comparison; everything needed to repeat it."""

    revisions: tuple[Mapping[str, Any], ...]
    """Label, text as given, and the facts of the environment, in the order given: the baseline first."""
    topology: str
    mixed_origins: bool
    hyperfine_version: str
    machine: Mapping[str, Any]
    started_at: str
    argv: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(str(revision["label"]) for revision in self.revisions)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What must be equal for the runs of two sessions to belong to one comparison."""
        return self.topology, tuple((r["label"], r.get("package_sha256"), r.get("python")) for r in self.revisions)


@dataclass
class Record:
    """All runs of one scenario so far. Grows while a comparison runs."""

    scenario: str
    parameters: Mapping[str, Any]
    context: Context
    measurements: list[Measurement] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    launcher_cpu_s: dict[str, float] = field(default_factory=dict)
    """What bytewax's own launcher spent in one extra run, by label; empty unless asked for."""

    def add(self, result: Measurement | Outcome) -> None:
        if isinstance(result, Measurement):
            self.measurements.append(result)
        else:
            self.outcomes.append(result)

    def of(self, label: str) -> list[Measurement]:
        """The measurements of one revision, in order of rounds."""
        return sorted((m for m in self.measurements if m.label == label), key=lambda m: m.round)


@dataclass(frozen=True)
class Contents:
    """What a results folder holds."""

    records: Sequence[Record] = ()
    loads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What ``runner.py load`` left, by mode."""
    paging: Mapping[str, Any] = field(default_factory=dict)
    """What ``runner.py paged-output`` left: ``rows`` and ``idle_share``."""


def write(record: Record, folder: Path) -> None:
    """Writes ``<scenario>.json``, and its samples where there are any. Raises ``HarnessError`` when the disk refuses."""
    labels = [label for label in record.context.labels if record.of(label)]
    machine = record.context.machine
    data = {
        "schema_version": SCHEMA_VERSION,
        "metadata": {
            "hyperfine_version": record.context.hyperfine_version,
            "start_time": record.context.started_at,
            "platform": {"os": machine.get("kernel"), "architecture": machine.get("architecture")},
            "scenario": record.scenario,
            "parameters": dict(record.parameters),
            "comparison": asdict(record.context),
            "launcher_cpu_s": record.launcher_cpu_s,
        },
        "primary_metric": METRICS[0].key,
        "results": [_result(label, record) for label in labels],
        "outcomes": [asdict(outcome) for outcome in record.outcomes],
    }  # fmt: skip
    write_safely(folder / f"{record.scenario}.json", json.dumps(data, indent=1))
    if any(run.samples for run in record.measurements):
        write_safely(folder / f"{record.scenario}{SAMPLES_SUFFIX}", _samples_text(record.measurements))


def write_csv(records: Sequence[Record], folder: Path) -> None:
    """Writes ``runs.csv``: one row a run, whether it gave a measurement or not."""
    columns = ["scenario", "revision", "round", "position", "started_at", "outcome", "marks", *(m.key for m in METRICS)]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerows(_rows(record))
    write_safely(folder / CSV_NAME, text.getvalue())


def read_folder(folder: Path) -> Contents:
    """Whatever there is in a results folder. Raises ``UsageError`` where there is nothing, or a file that is not ours."""
    loads = _read_plain(folder / LOAD_NAME).get("modes", {})
    paging = _read_plain(folder / PAGING_NAME)
    has_records = any(path.name not in _NO_SCENARIOS for path in folder.glob("*.json"))
    return Contents(read_all(folder) if has_records or not (loads or paging) else (), loads, paging)


def _read_plain(path: Path) -> Mapping[str, Any]:
    try:
        found: dict[str, Any] = dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}
        return found
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{str(path)!r} is not a result file of this harness ({error!r}).") from error


def read_all(folder: Path) -> tuple[Record, ...]:
    """Every scenario of a results folder, in the order in which the comparison began them.

    Raises ``UsageError`` where there is none, or where a file is not one of ours.
    """
    if not folder.is_dir():
        raise UsageError(f"There is no folder {str(folder)!r}. Measure first: ./compare.sh v0.16.0 v0.16.1")
    records = [_read(path) for path in sorted(folder.glob("*.json")) if path.name not in _NO_SCENARIOS]
    if not records:
        raise UsageError(f"{str(folder)!r} holds no results. Measure first: ./compare.sh v0.16.0 v0.16.1")
    return tuple(records)


def _read(path: Path) -> Record:
    try:
        data = json.loads(path.read_text("utf-8"))
        metadata = data["metadata"]
        context = dict(metadata["comparison"])
        context["revisions"], context["argv"] = tuple(context["revisions"]), tuple(context["argv"])
        record = Record(metadata["scenario"], metadata["parameters"], Context(**context))
        for result in data["results"]:
            record.measurements += [_measurement(result["command"], run) for run in result["measurements"]]
        record.launcher_cpu_s.update(metadata["launcher_cpu_s"])
        record.outcomes += [Outcome(**outcome) for outcome in data["outcomes"]]
        samples_path = path.with_name(f"{record.scenario}{SAMPLES_SUFFIX}")
        if samples_path.exists():
            samples = _samples(samples_path)
            record.measurements = [replace(m, samples=tuple(samples[m.label, m.round])) for m in record.measurements]
        return record
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{str(path)!r} is not a result file of this harness ({error!r}).") from error


def _result(label: str, record: Record) -> dict[str, Any]:
    runs = record.of(label)
    wall = [run.metrics["time_wall_clock"] for run in runs]
    result: dict[str, Any] = {
        "command": label,
        "mean": statistics.fmean(wall),
        "stddev": statistics.stdev(wall) if len(wall) > 1 else None,
        "median": statistics.median(wall),
        "user": statistics.fmean(run.metrics["time_user"] for run in runs),
        "system": statistics.fmean(run.metrics["time_system"] for run in runs),
        "min": min(wall),
        "max": max(wall),
        "times": wall,
        "exit_codes": [0] * len(runs),
        # Exactly one, and a number, as hyperfine 1.x's script for parameter scans wants; the scenario's are in the metadata.
        # (2.0's wants {"value": …} instead of a string: no value satisfies both.)
        "parameters": {"revision_number": str(record.context.labels.index(label))},
        "summary": {},
        "measurements": [_run(run) for run in runs],
    }
    for metric in METRICS:
        values = [run.metrics[metric.key] for run in runs if metric.key in run.metrics]
        if len(values) == len(runs):
            result["summary"][metric.key] = _summary(metric, values)
    return result


def _summary(metric: Metric, values: Sequence[float]) -> dict[str, Any]:
    return {
        "unit": metric.unit,
        "count": len(values),
        "mean": statistics.fmean(values),
        "stddev": statistics.stdev(values) if len(values) > 1 else None,
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }


def _run(run: Measurement) -> dict[str, Any]:
    metrics = {m.key: {"value": run.metrics[m.key], "unit": m.unit} for m in METRICS if m.key in run.metrics}
    return {
        **metrics,
        "exit_code": 0,
        "round": run.round,
        "position": run.position,
        "started_at": run.started_at,
        "marks": list(run.marks),
    }


def _measurement(label: str, run: Mapping[str, Any]) -> Measurement:
    metrics = {name: entry["value"] for name, entry in run.items() if isinstance(entry, dict)}
    return Measurement(label, run["round"], run["position"], run["started_at"], metrics, tuple(run["marks"]))


def _samples_text(runs: Sequence[Measurement]) -> str:
    text = io.StringIO()
    columns = sorted({name for run in runs for sample in run.samples for name in sample})
    writer = csv.DictWriter(text, ["revision", "round", *columns], restval="", lineterminator="\n")
    writer.writeheader()
    for run in runs:
        writer.writerows({"revision": run.label, "round": run.round, **_rounded(sample)} for sample in run.samples)
    return text.getvalue()


def _rounded(sample: Mapping[str, float]) -> dict[str, str]:
    # To the microsecond where they are seconds, and no shorter than is needed for large counts.
    return {name: f"{value:.9g}" for name, value in sample.items()}


def _samples(path: Path) -> dict[tuple[str, int], list[Mapping[str, float]]]:
    """By revision and round, in order."""
    samples: dict[tuple[str, int], list[Mapping[str, float]]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row.pop("revision"), int(row.pop("round"))
            samples[key].append({name: float(text) for name, text in row.items() if text})
    return samples


def _rows(record: Record) -> Iterable[dict[str, Any]]:
    runs: list[Measurement | Outcome] = [*record.measurements, *record.outcomes]
    for run in sorted(runs, key=lambda r: (r.round, r.position)):
        row = {
            "scenario": record.scenario,
            "revision": run.label,
            "round": run.round,
            "position": run.position,
            "started_at": run.started_at,
        }
        yield (
            {**row, "outcome": "ok", "marks": " ".join(run.marks), **run.metrics}
            if isinstance(run, Measurement)
            else {**row, "outcome": run.reason}
        )


def write_safely(path: Path, text: str) -> None:
    """Writes a file under another name, then renames it. Raises ``HarnessError`` when the disk refuses."""
    partial = path.with_name(f".{path.name}.part")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise HarnessError(f"{path} cannot be written: {error.strerror}. What was there before is untouched.") from error

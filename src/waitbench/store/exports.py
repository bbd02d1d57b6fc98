"""``<scenario>.json`` <-> a record: a superset of hyperfine's exports, both lines of them in one.

It is of schema 2 (``schema_version``, ``metadata``, per-run ``measurements``, ``summary``) and has,
in the same objects, the keys of hyperfine 1.x (``mean``, ``times``, …), so that the plotting
scripts of either line read it. What is ours is in ``metadata``, in further entries of each of
``measurements``, and in ``outcomes``: the runs that gave no measurement.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import convert, to_builtins

from waitbench.model.metrics import METRICS, Metric
from waitbench.model.record import Context, Record
from waitbench.model.run import Measurement, Outcome
from waitbench.store.formats import plain_scenario, read_scenario
from waitbench.store.plain import Plain

_HYPERFINE_SCHEMA = 2


class _OfRevision(msgspec.Struct):
    command: str
    measurements: list[dict[str, Any]]
    """Each with an entry for every metric, beside what else is known of the run."""


class _File(msgspec.Struct):
    """What is read of a file."""

    metadata: dict[str, Any]
    results: list[_OfRevision]
    outcomes: list[Outcome]


def plain_export(record: Record) -> dict[str, Any]:
    """The content of ``<scenario>.json``: everything but the samples."""
    context = record.context
    return {
        "schema_version": _HYPERFINE_SCHEMA,
        "metadata": {
            "hyperfine_version": context.hyperfine_version,
            "start_time": context.started_at,
            "platform": {
                "os": record.measured_on.get("kernel"),
                "architecture": record.measured_on.get("architecture"),
            },
            **plain_scenario(record),
        },
        "primary_metric": METRICS[0].key,
        "results": [_plain_result(label, record) for label in context.labels if record.of(label)],
        "outcomes": to_builtins(record.outcomes),
    }


def read_export(data: Plain, context: Context) -> Record:
    """The record in the content of a file of the present format. Raises as ``formats`` says."""
    file = convert(data, _File)
    record = read_scenario(file.metadata, context)
    for of_revision in file.results:
        for run in of_revision.measurements:
            metrics = {
                key: entry["value"]
                for key, entry in run.items()
                if isinstance(entry, dict) and "value" in entry
            }
            plain = {**run, "label": of_revision.command, "metrics": metrics}
            record.measurements.append(convert(plain, Measurement))
    record.outcomes += file.outcomes
    return record


def _plain_result(label: str, record: Record) -> dict[str, Any]:
    runs = record.of(label)
    wall = [run.metrics["time_wall_clock"] for run in runs]
    return {
        "command": label,
        "mean": statistics.fmean(wall),
        "stddev": _deviation(wall),
        "median": statistics.median(wall),
        "user": statistics.fmean(run.metrics["time_user"] for run in runs),
        "system": statistics.fmean(run.metrics["time_system"] for run in runs),
        "min": min(wall),
        "max": max(wall),
        "times": wall,
        "exit_codes": [0] * len(runs),
        # Exactly one, and a number in a string, as the script of hyperfine 1.x for parameter scans
        # wants it; the scenario's are in the metadata. (That of 2.0 wants an object with a value
        # instead of a string: nothing satisfies both.)
        "parameters": {"revision_number": str(record.context.labels.index(label))},
        "summary": dict(_summaries(runs, record.metrics)),
        "measurements": [_plain_measurement(run, record.metrics) for run in runs],
    }


def _summaries(
    runs: Sequence[Measurement], metrics: Sequence[Metric]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A summary of each metric that every run has."""
    for metric in metrics:
        values = [run.metrics[metric.key] for run in runs if metric.key in run.metrics]
        if len(values) == len(runs):
            yield (
                metric.key,
                {
                    "unit": metric.unit,
                    "count": len(values),
                    "mean": statistics.fmean(values),
                    "stddev": _deviation(values),
                    "median": statistics.median(values),
                    "min": min(values),
                    "max": max(values),
                },
            )


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def _plain_measurement(run: Measurement, metrics: Sequence[Metric]) -> dict[str, Any]:
    values = {
        metric.key: {"value": run.metrics[metric.key], "unit": metric.unit}
        for metric in metrics
        if metric.key in run.metrics
    }
    return {
        **values,
        "exit_code": 0,
        "round": run.round,
        "position": run.position,
        "started_at": run.started_at,
        "marks": list(run.marks),
    }

"""``<scenario>.json`` <-> a record: a superset of hyperfine's exports, both lines of them in one.

It is of schema 2 (``schema_version``, ``metadata``, per-run ``measurements``, ``summary``) and has,
in the same objects, the keys of hyperfine 1.x (``mean``, ``times``, …), so that the plotting
scripts of either line read it. What is ours is in ``metadata``, in further entries of each of
``measurements``, and in ``outcomes``: the runs that gave no measurement.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from waitbench.model.metrics import METRICS, Metric
from waitbench.model.record import Context, Record
from waitbench.model.run import Measurement, Result
from waitbench.store.formats import plain_scenario, read_outcome, read_scenario
from waitbench.store.plain import Plain, as_number, take, take_objects, take_texts

_HYPERFINE_SCHEMA = 2


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
        "outcomes": [asdict(outcome) for outcome in record.outcomes],
    }


def read_export(data: Plain, context: Context) -> Record:
    """The record in the content of a file of the present format. Raises as ``formats`` says."""
    record = read_scenario(take(data, "metadata", dict), context)
    for result in read_results(data):
        record.add(result)
    return record


def read_results(data: Plain) -> list[Result]:
    """The runs in the content of a file of any format: measurements by revision, then outcomes."""
    measurements: list[Result] = [
        _read_measurement(take(result, "command", str), run)
        for result in take_objects(data, "results")
        for run in take_objects(result, "measurements")
    ]
    return measurements + [read_outcome(outcome) for outcome in take_objects(data, "outcomes")]


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


def _read_measurement(label: str, data: Plain) -> Measurement:
    return Measurement(
        label=label,
        round=take(data, "round", int),
        position=take(data, "position", int),
        started_at=take(data, "started_at", str),
        metrics={
            key: as_number(entry["value"])
            for key, entry in data.items()
            if isinstance(entry, dict) and "value" in entry
        },
        marks=take_texts(data, "marks"),
    )

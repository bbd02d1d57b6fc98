"""Records -> ``<scenario>.json`` and ``runs.csv``, for people and their tools; not read back.

``<scenario>.json`` is a superset of hyperfine's exports, both lines of them in one. It is of schema
2 (``schema_version``, ``metadata``, per-run ``measurements``, ``summary``) and has, in the same
objects, the keys of hyperfine 1.x (``mean``, ``times``, …), so that the plotting scripts of either
line read it.
"""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from waitbench.model.metrics import METRICS
from waitbench.model.record import Record
from waitbench.model.run import Measurement
from waitbench.system import files

TABLE_NAME = "runs.csv"
_HYPERFINE_SCHEMA = 2
_RESERVED = ("comparison", "verdict")
"""Stems of files that are no scenario's, in a folder that holds scenarios."""


def write(folder: Path, records: Sequence[Record]) -> None:
    """Writes a file for each record, and a table of all runs.

    Raises ``HarnessError`` when the disk refuses.
    """
    # Here, not above: pandas takes a second to import, and nothing is measured any more.
    from waitbench.store.frames import frame

    for record in records:
        # A user's own dataflow may have any name.
        suffix = "-scenario" if record.scenario in _RESERVED else ""
        path = folder / f"{record.scenario}{suffix}.json"
        files.write_text(path, json.dumps(for_hyperfine(record), indent=1))
    table = frame(records).to_csv(index=False, lineterminator="\n")
    files.write_text(folder / TABLE_NAME, table)


def for_hyperfine(record: Record) -> dict[str, Any]:
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
            "scenario": record.scenario,
            "topology": record.topology,
            "parameters": dict(record.parameters),
        },
        "primary_metric": METRICS[0].key,
        "results": [_result(label, record) for label in context.labels if record.of(label)],
        "outcomes": to_builtins(record.outcomes),
    }


def _result(label: str, record: Record) -> dict[str, Any]:
    runs = record.of(label)
    wall = _summary([run.metrics["time_wall_clock"] for run in runs])
    return {
        "command": label,
        **{key: wall[key] for key in ("mean", "stddev", "median", "min", "max")},
        "user": statistics.fmean(run.metrics["time_user"] for run in runs),
        "system": statistics.fmean(run.metrics["time_system"] for run in runs),
        "times": [run.metrics["time_wall_clock"] for run in runs],
        "exit_codes": [0] * len(runs),
        # Exactly one, and a number in a string, as the script of hyperfine 1.x for parameter scans
        # wants it; the scenario's are in the metadata. (That of 2.0 wants an object with a value
        # instead of a string: nothing satisfies both.)
        "parameters": {"revision_number": str(record.context.labels.index(label))},
        "summary": dict(_summaries(runs, record)),
        "measurements": [_measurement(run, record) for run in runs],
    }


def _summaries(
    runs: Sequence[Measurement], record: Record
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A summary of each metric that every run has."""
    for metric in record.metrics:
        values = [run.metrics[metric.key] for run in runs if metric.key in run.metrics]
        if len(values) == len(runs):
            yield metric.key, {"unit": metric.unit, "count": len(values), **_summary(values)}


def _summary(values: Sequence[float]) -> dict[str, float | None]:
    return {
        "mean": statistics.fmean(values),
        "stddev": statistics.stdev(values) if len(values) > 1 else None,
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }


def _measurement(run: Measurement, record: Record) -> dict[str, Any]:
    values = {
        metric.key: {"value": run.metrics[metric.key], "unit": metric.unit}
        for metric in record.metrics
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

"""The runs of a comparison as a table of pandas, and files for other tools.

``<scenario>.json`` has the keys of exports of hyperfine 2 (``schema_version``, ``measurements``,
``summary``) and of hyperfine 1.x (``mean``, ``times``, …), so that scripts of both can read it,
except that of 2.0 for scans.
"""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from waitbench.model.metrics import METRICS
from waitbench.model.record import ScenarioResults
from waitbench.model.run import MEASURED
from waitbench.system import files

if TYPE_CHECKING:
    import pandas as pd

TABLE_NAME = "runs.csv"
_HYPERFINE_SCHEMA = 2
_RESERVED = ("comparison", "verdict")
_COLUMNS = ("scenario", "revision", "round", "position", "started_at", "outcome", "marks")
"""Marks say what was unusual in a run, such as "restarted" or "side-by-side"."""


def frame(records: Sequence[ScenarioResults]) -> pd.DataFrame:
    """A table with a row for each run, also failed ones, and a column for each metric's key."""
    # Imported here, because no command needs it.
    import pandas as pd

    keys, rows = _keys(records), [row for record in records for row in _rows(record)]
    # Missing values would turn integers into floats.
    integers = [key for key in keys if {type(row[key]) for row in rows if key in row} == {int}]
    table = pd.DataFrame(rows, columns=[*_COLUMNS, *keys])
    return table.astype(dict.fromkeys(integers, "Int64"))


def _keys(records: Sequence[ScenarioResults]) -> list[str]:
    return [*dict.fromkeys(metric.key for record in records for metric in record.metrics)]


def _rows(record: ScenarioResults) -> list[dict[str, Any]]:
    """The fields and metrics of each run, by name of column; more than the table has."""
    results = sorted(record.results, key=attrgetter("round", "position"))
    return [
        {
            "scenario": record.scenario,
            **run,
            **({"marks": " ".join(run["marks"])} if "marks" in run else {}),
            **run.get("metrics", {}),
        }
        for run in to_builtins(results, enc_hook=dict)
    ]


def export(folder: Path, records: Sequence[ScenarioResults]) -> None:
    """Writes ``runs.csv``, and a file for hyperfine's scripts for each scenario."""
    text, columns = io.StringIO(), [*_COLUMNS, *_keys(records)]
    table = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for record in records:
        rows = _rows(record)
        table.writerows(rows)
        # A scenario of a worker file may have a name that another file needs.
        suffix = "-scenario" if record.scenario in _RESERVED else ""
        path = folder / f"{record.scenario}{suffix}.json"
        files.write_text(path, json.dumps(_for_hyperfine(record, rows), indent=1))
    files.write_text(folder / TABLE_NAME, text.getvalue())


def _for_hyperfine(record: ScenarioResults, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    measured = [row for row in rows if row["outcome"] == MEASURED]
    units = {metric.key: metric.unit for metric in record.metrics}
    return {
        "schema_version": _HYPERFINE_SCHEMA,
        "metadata": {"hyperfine_version": record.context.hyperfine_version},
        "primary_metric": METRICS[0].key,
        "results": [
            # hyperfine 1.x's script for scans expects exactly one parameter, a number as a string.
            # That of 2.0 expects an object, so it cannot read this file.
            {
                "command": label,
                "parameters": {"revision_number": str(number)},
                **_result(runs, units),
            }
            for number, label in enumerate(record.context.labels)
            if (runs := [row for row in measured if row["revision"] == label])
        ],
    }


def _result(runs: Sequence[Mapping[str, Any]], units: Mapping[str, str]) -> dict[str, Any]:
    """The runs of a revision, and summaries of the metrics that all of them have."""
    summaries = {
        key: _summary([float(run[key]) for run in runs])
        for key in units
        if all(key in run for run in runs)
    }
    return {
        **summaries.get("time_wall_clock", {}),
        # Both are missing if the CPU of a run is incomplete.
        **{key: summaries.get(f"time_{key}", {}).get("mean") for key in ("user", "system")},
        "times": [run["time_wall_clock"] for run in runs if "time_wall_clock" in run],
        "exit_codes": [0] * len(runs),
        "summary": {
            key: {"unit": units[key], "count": len(runs), **summary}
            for key, summary in summaries.items()
        },
        "measurements": [
            {
                **{key: {"value": run[key], "unit": units[key]} for key in units if key in run},
                "exit_code": 0,
            }
            for run in runs
        ],
    }


def _summary(values: Sequence[float]) -> dict[str, float | None]:
    # A single run has no deviation: null in JSON, not NaN.
    return {
        "mean": statistics.fmean(values),
        "stddev": statistics.stdev(values) if len(values) > 1 else None,
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }

"""The runs of a comparison as a pandas table, and files for other tools.

``<scenario>.json`` has the keys of exports of hyperfine 2 (``schema_version``, ``measurements``,
``summary``) and of hyperfine 1.x (``mean``, ``times``, …), so that scripts of both can read it,
except that of 2.0 for scans.
"""

import json
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd
from msgspec import to_builtins

from waitbench.model.metrics import METRICS
from waitbench.model.record import ScenarioResults
from waitbench.model.run import MEASURED
from waitbench.system import files

TABLE_NAME = "runs.csv"
_HYPERFINE_SCHEMA = 2
_RESERVED = ("comparison", "verdict")
_SUMMARY = {"mean": "mean", "std": "stddev", "50%": "median", "min": "min", "max": "max"}
"""Names of statistics in pandas, each with its name in hyperfine."""
_COLUMNS = ("scenario", "revision", "round", "position", "started_at", "outcome", "marks")
"""Marks say what was unusual in a run, such as "restarted" or "side-by-side"."""


def frame(records: Sequence[ScenarioResults]) -> pd.DataFrame:
    """A table with a row for each run, also failed ones, and a column for each metric's key."""
    keys = dict.fromkeys(metric.key for record in records for metric in record.metrics)
    rows = [
        {"scenario": record.scenario, **run, **run.get("metrics", {})}
        for record in records
        for run in to_builtins(
            sorted(record.results, key=attrgetter("round", "position")), enc_hook=dict
        )
    ]
    table = pd.DataFrame(rows, columns=[*_COLUMNS, *keys])
    table["marks"] = table["marks"].map(" ".join, na_action="ignore")
    # Missing values would turn integers into floats.
    integers = [key for key in keys if {type(row[key]) for row in rows if key in row} == {int}]
    return table.astype(dict.fromkeys(integers, "Int64"))


def export(folder: Path, records: Sequence[ScenarioResults]) -> None:
    """Writes ``runs.csv``, and a file for hyperfine's scripts for each scenario."""
    runs = frame(records)
    for record in records:
        # A scenario of a worker file may have a name that another file needs.
        suffix = "-scenario" if record.scenario in _RESERVED else ""
        path = folder / f"{record.scenario}{suffix}.json"
        files.write_text(path, json.dumps(for_hyperfine(record, runs), indent=1))
    files.write_text(folder / TABLE_NAME, runs.to_csv(index=False, lineterminator="\n"))


def for_hyperfine(record: ScenarioResults, runs: pd.DataFrame) -> dict[str, Any]:
    keys = [metric.key for metric in record.metrics]
    measured = runs[(runs["scenario"] == record.scenario) & (runs["outcome"] == MEASURED)]
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
                **_result(rows, units),
            }
            for number, label in enumerate(record.context.labels)
            if len(rows := measured.loc[measured["revision"] == label, keys])
        ],
    }


def _result(runs: pd.DataFrame, units: dict[str, str]) -> dict[str, Any]:
    """The runs of a revision, and summaries of the metrics that all of them have."""
    described = runs.dropna(axis="columns").astype(float).describe()
    # A single run has no deviation: null in JSON, not NaN.
    table = described.loc[[*_SUMMARY]].rename(_SUMMARY).astype(object)
    summaries = table.where(table.notna(), None).to_dict()
    return {
        **summaries["time_wall_clock"],
        # Both are missing if the CPU of a run is incomplete.
        **{key: summaries.get(f"time_{key}", {}).get("mean") for key in ("user", "system")},
        "times": runs["time_wall_clock"].tolist(),
        "exit_codes": [0] * len(runs),
        "summary": {
            key: {"unit": units[key], "count": len(runs), **summary}
            for key, summary in summaries.items()
        },
        "measurements": [
            {**{key: {"value": run[key], "unit": units[key]} for key in run}, "exit_code": 0}
            for run in (row.dropna().to_dict() for _, row in runs.astype(object).iterrows())
        ],
    }

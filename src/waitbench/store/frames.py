"""The runs of a comparison as a table of pandas, and what is exported of it for people's tools.

``<scenario>.json`` has hyperfine's exports of both lines in one: of schema 2 (``schema_version``,
per-run ``measurements``, ``summary``), with the keys of hyperfine 1.x (``mean``, ``times``, …) in
the same objects, so that the plotting scripts of either line read it. No export is read back.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from msgspec import to_builtins

from waitbench.model.metrics import METRICS
from waitbench.model.record import Record
from waitbench.model.run import MEASURED, Result
from waitbench.system import files

TABLE_NAME = "runs.csv"
_HYPERFINE_SCHEMA = 2
_RESERVED = ("comparison", "verdict")
"""Stems of files that are no scenario's, in a folder that holds scenarios."""
_SUMMARY = {"mean": "mean", "std": "stddev", "50%": "median", "min": "min", "max": "max"}
"""What hyperfine calls what pandas computes."""
_COLUMNS = ("scenario", "revision", "round", "position", "started_at", "outcome", "marks")


def frame(records: Sequence[Record]) -> pd.DataFrame:
    """One row a run, whether it gave a measurement or not, with a column for each metric's key.

    What a run does not have is missing.
    """
    keys = dict.fromkeys(metric.key for record in records for metric in record.metrics)
    rows = [
        {"scenario": record.scenario, **run, **run.get("metrics", {})}
        for record in records
        for run in to_builtins(sorted(record.results, key=_place), enc_hook=dict)
    ]
    table = pd.DataFrame(rows, columns=[*_COLUMNS, *keys])
    table["marks"] = table["marks"].map(" ".join, na_action="ignore")
    # Missing values would make fractions of whole numbers.
    whole = [key for key in keys if {type(row[key]) for row in rows if key in row} == {int}]
    return table.astype(dict.fromkeys(whole, "Int64"))


def export(folder: Path, records: Sequence[Record]) -> None:
    """Writes ``runs.csv`` and a file for each record. Raises ``HarnessError``."""
    runs = frame(records)
    for record in records:
        # A user's own dataflow may have any name.
        suffix = "-scenario" if record.scenario in _RESERVED else ""
        path = folder / f"{record.scenario}{suffix}.json"
        files.write_text(path, json.dumps(for_hyperfine(record, runs), indent=1))
    files.write_text(folder / TABLE_NAME, runs.to_csv(index=False, lineterminator="\n"))


def for_hyperfine(record: Record, runs: pd.DataFrame) -> dict[str, Any]:
    """The content of ``<scenario>.json``, out of the frame of all runs."""
    keys = [metric.key for metric in record.metrics]
    measured = runs[(runs["scenario"] == record.scenario) & (runs["outcome"] == MEASURED)]
    units = {metric.key: metric.unit for metric in record.metrics}
    return {
        "schema_version": _HYPERFINE_SCHEMA,
        "metadata": {"hyperfine_version": record.context.hyperfine_version},
        "primary_metric": METRICS[0].key,
        "results": [
            # Exactly one parameter, and a number in a string, as the script of hyperfine 1.x for
            # parameter scans wants it. (That of 2.0 wants an object with a value instead.)
            {
                "command": label,
                "parameters": {"revision_number": str(number)},
                **_result(own, units),
            }
            for number, label in enumerate(record.context.labels)
            if len(own := measured.loc[measured["revision"] == label, keys])
        ],
    }


def _place(run: Result) -> tuple[int, int]:
    return run.round, run.position


def _result(runs: pd.DataFrame, units: dict[str, str]) -> dict[str, Any]:
    """One revision's runs, with a summary of each metric that all of them have."""
    described = runs.dropna(axis="columns").astype(float).describe()
    # A single run has no deviation, which JSON says by null.
    table = described.loc[[*_SUMMARY]].rename(_SUMMARY).astype(object)
    summaries = table.where(table.notna(), None).to_dict()
    return {
        **summaries["time_wall_clock"],
        "user": summaries["time_user"]["mean"],
        "system": summaries["time_system"]["mean"],
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

"""The runs of a comparison as a table of pandas: for ``runs.csv``, and for notebooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.model.run import MEASURED, Measurement, Result
from waitbench.store import comparisons, folders

_COLUMNS = ("scenario", "revision", "round", "position", "started_at", "outcome", "marks")


def frame(records: Sequence[Record]) -> pd.DataFrame:
    """One row a run, whether it gave a measurement or not, with a column for each metric's key.

    What a run does not have is missing.
    """
    keys = dict.fromkeys(metric.key for record in records for metric in record.metrics)
    rows = [
        {
            "scenario": record.scenario,
            "revision": run.label,
            "round": run.round,
            "position": run.position,
            "started_at": run.started_at,
            **_came_of(run),
        }
        for record in records
        for run in sorted(record.results, key=lambda run: (run.round, run.position))
    ]
    # Missing values would make fractions of whole numbers.
    whole = [key for key in keys if {type(row[key]) for row in rows if key in row} == {int}]
    table = pd.DataFrame(rows, columns=[*_COLUMNS, *keys])
    return table.astype(dict.fromkeys(whole, "Int64"))


def _came_of(run: Result) -> Mapping[str, object]:
    if isinstance(run, Measurement):
        return {"outcome": MEASURED, "marks": " ".join(run.marks), **run.metrics}
    return {"outcome": run.reason}


@dataclass(frozen=True, kw_only=True)
class Results:
    """What a folder of results holds."""

    folder: Path
    revisions: tuple[str, ...]
    """Their labels, the baseline's first."""
    runs: pd.DataFrame
    """One row a run, with the columns of ``runs.csv``: docs/results.md describes them."""
    verdict: Mapping[str, Any] | None
    """The content of ``verdict.json``; ``None`` without a gate. docs/verdict.md describes it."""


def read(folder: str | PathLike[str] | None = None) -> Results:
    """Reads a folder, or that of the latest comparison.

    Raises ``ValueError`` where there are no results, or a file is not one of ours.
    """
    try:
        found = comparisons.read(folders.existing_folder(None if folder is None else Path(folder)))
        verdict = comparisons.read_document(found.folder, "verdict")
    except UsageError as error:
        raise ValueError(str(error)) from error
    runs = frame(found.records)
    runs["started_at"] = pd.to_datetime(runs["started_at"], utc=True, format="ISO8601")
    return Results(
        folder=found.folder,
        revisions=found.comparison.labels,
        runs=runs,
        verdict=verdict,
    )

"""The runs of a comparison as a table of pandas: for exports, and for notebooks."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import pandas as pd
from msgspec import to_builtins

from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.model.run import Result
from waitbench.store import comparisons, folders

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


def read(folder: str | PathLike[str] | None = None) -> pd.DataFrame:
    """The runs in a folder, or in that of the latest comparison.

    Raises ``ValueError`` where there are no results, or a file is not one of ours.
    """
    try:
        found = comparisons.read(folders.existing_folder(None if folder is None else Path(folder)))
    except UsageError as error:
        raise ValueError(str(error)) from error
    runs = frame(found.records)
    runs["started_at"] = pd.to_datetime(runs["started_at"], utc=True, format="ISO8601")
    return runs


def _place(run: Result) -> tuple[int, int]:
    return run.round, run.position

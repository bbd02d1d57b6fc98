"""Results for notebooks: the runs of a folder as a table of pandas, and the verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from waitbench.model.errors import UsageError
from waitbench.store import comparisons, csv_files, folders


@dataclass(frozen=True, kw_only=True)
class Results:
    """What a folder of results holds."""

    folder: Path
    revisions: tuple[str, ...]
    """Their labels, the baseline's first; empty where nothing was compared."""
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
    except UsageError as error:
        raise ValueError(str(error)) from error
    columns, rows = csv_files.table(found.records)
    runs = pd.DataFrame(rows, columns=columns)
    runs["started_at"] = pd.to_datetime(runs["started_at"], utc=True, format="ISO8601")
    return Results(
        folder=found.folder,
        revisions=() if found.context is None else found.context.labels,
        runs=runs,
        verdict=found.documents.get("verdict"),
    )

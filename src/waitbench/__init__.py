"""Measures the CPU that stream-processing workers use while they wait.

Notebooks and programs can use ``read``, and the functions of features. All else is for the command
line.
"""

from __future__ import annotations

# Not from typing: Python runs this module before ``__main__`` can report a failed import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    import pandas as pd

__all__ = ["read"]


def read(folder: str | PathLike[str] | None = None) -> pd.DataFrame:
    """The runs in a folder of results, with a row for each run and a column for each metric.

    Without a folder, reads the latest comparison. Raises ``ValueError`` if there are no results, or
    a file was not written by waitbench.
    """
    # Imported here, because pandas takes a second, and the command line does not need it.
    from pathlib import Path

    import pandas as pd

    from waitbench.model.errors import UsageError
    from waitbench.store import comparisons, folders, frames

    try:
        stored = comparisons.read(folders.existing_folder(Path(folder) if folder else None))
    except UsageError as error:
        raise ValueError(str(error)) from error
    runs = frames.frame(stored.records)
    runs["started_at"] = pd.to_datetime(runs["started_at"], utc=True, format="ISO8601")
    return runs


def __getattr__(name: str) -> Any:
    from waitbench.features import FUNCTIONS

    if name in FUNCTIONS:
        from importlib import import_module

        return getattr(import_module(FUNCTIONS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Measures the CPU that stream-processing workers use while they wait.

``read`` and the functions of features are for notebooks and programs; all else is the command
line's own.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, whose import may fail before the command line begins
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    import pandas as pd

__all__ = ["read"]


def read(folder: str | PathLike[str] | None = None) -> pd.DataFrame:
    """The runs in a folder of results, one row a run, with a column for each metric.

    Without a folder, those of the latest comparison. Raises ``ValueError`` where there are no
    results, or a file is not one of ours.
    """
    # Here, not above: pandas takes a second to import, and the command line starts without it.
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
    if name == "__version__":
        from waitbench.system.installation import VERSION

        return VERSION
    from waitbench.features import FUNCTIONS

    if name in FUNCTIONS:
        from importlib import import_module

        return getattr(import_module(FUNCTIONS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

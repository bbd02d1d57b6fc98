"""Plain data out of JSON, read with care: nobody knows who wrote a file, or what cut it off."""

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from waitbench.model.errors import UsageError
from waitbench.system import files

Plain = Mapping[str, Any]
"""One JSON object."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what goes wrong while a file is read into a ``UsageError`` that names the file.

    What is no file is not opened at all: a pipe would never end, or never begin.
    """
    if files.is_there(path) and not files.is_file(path):
        raise UsageError(f"{str(path)!r} is not a result file of waitbench (it is not a file).")
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error}") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError, csv.Error) as error:
        why = repr(error)
        if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
            why = f"it is cut off or damaged: {error}"
        elif isinstance(error, msgspec.ValidationError):
            why = str(error)
        raise UsageError(f"{str(path)!r} is not a result file of waitbench ({why}).") from error


def parse(text: str | bytes) -> Plain:
    """One JSON object."""
    return msgspec.convert(json.loads(text), dict[str, Any])

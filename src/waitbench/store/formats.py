"""Files of JSON, read with care: nobody knows who wrote one, or what cut it off."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from waitbench.model.errors import UsageError
from waitbench.system import files

FORMAT = 3
"""The number that stands in every file. Readers accept every one that a release has written."""
_Kind = TypeVar("_Kind")


class _Format(msgspec.Struct):
    format: int


@contextmanager
def reading(path: Path, line: int | None = None) -> Iterator[None]:
    """Turns what goes wrong while a file, or a line of it, is read into a ``UsageError``."""
    place = repr(str(path)) if line is None else f"Line {line} of {str(path)!r}"
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{place} cannot be read: {error}") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else repr(error)
        if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
            why = f"it is cut off or damaged: {error}"
        what = "a result file" if line is None else "a run"
        raise UsageError(f"{place} is not {what} of waitbench ({why}).") from error


def content_of(path: Path) -> bytes:
    """The bytes of a file. What is none is not opened at all: a pipe would never end, or begin."""
    if files.is_there(path) and not files.is_file(path):
        raise ValueError("it is not a file")
    return path.read_bytes()


def read(path: Path, kind: type[_Kind]) -> _Kind:
    """A file of our format. Raises ``UsageError`` for any other, and for a later format."""
    with reading(path):
        data = json.loads(content_of(path))
        named = msgspec.convert(data, _Format).format
        if named > FORMAT:
            raise UsageError(
                f"it is of format {named}, and this version of waitbench reads formats up to "
                f"{FORMAT}. Update waitbench to read it."
            )
        if named < FORMAT:
            raise ValueError(f"no release has written format {named}")
        return msgspec.convert(data, kind)


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a file. Raises ``HarnessError`` when the disk refuses."""
    # Not by msgspec: what was typed may not be UTF-8.
    files.write_text(path, json.dumps(content, indent=1))

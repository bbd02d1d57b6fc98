"""Plain data out of JSON, taken with care: nobody knows who wrote a file, or what cut it off.

What takes a value apart raises ``TypeError`` or ``ValueError`` where it is not what it must be, and
``KeyError`` where it is not there; ``reading`` makes a sentence of these.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from waitbench.model.errors import UsageError
from waitbench.system import files

Plain = Mapping[str, Any]
"""One JSON object."""

Kind = TypeVar("Kind")

_MOST = 10**15
"""No quantity that we measure comes near; sums, squares and ratios of such numbers stay finite."""

_MOST_OF_NAME = 200
"""Bytes of a name to which suffixes are added; file systems allow 255."""


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
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{str(path)!r} is not a result file of waitbench (it is cut off or damaged: {error})."
        ) from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError, csv.Error) as error:
        raise UsageError(f"{str(path)!r} is not a result file of waitbench ({error!r}).") from error


def parse(text: str | bytes) -> Plain:
    """One JSON object."""
    return expect(json.loads(text), dict)


def take(data: Plain, key: str, kind: type[Kind]) -> Kind:
    """A value that must be there, of this type."""
    return expect(data[key], kind)


def take_file_name(data: Plain, key: str) -> str:
    """A string that files are named after: visible, and none of them may be in another folder."""
    name = take(data, key, str)
    if not name or "/" in name or not name.isprintable() or len(name.encode()) > _MOST_OF_NAME:
        raise ValueError(f"{name[:40]!r} cannot be a file's name")
    return name


def take_texts(data: Plain, key: str) -> tuple[str, ...]:
    """A list of strings."""
    return tuple(expect(text, str) for text in take(data, key, list))


def take_objects(data: Plain, key: str) -> list[Plain]:
    """A list of objects."""
    return [expect(item, dict) for item in take(data, key, list)]


def take_mapping(data: Plain, key: str, kind: type[Kind]) -> dict[str, Kind]:
    """An object whose values all are of this type."""
    return {name: expect(value, kind) for name, value in take(data, key, dict).items()}


def take_numbers(data: Plain, key: str) -> dict[str, float]:
    """An object whose values all are numbers."""
    return as_numbers(take(data, key, dict))


def take_optional(data: Plain, key: str, kind: type[Kind]) -> Kind | None:
    """A value of this type; ``None`` where there is none."""
    return None if data.get(key) is None else expect(data[key], kind)


def as_numbers(data: Plain) -> dict[str, float]:
    """The same object; its values must all be numbers. Whole ones stay whole."""
    return {name: as_number(value) for name, value in data.items()}


def as_number(value: object) -> float:
    """The same value; it must be a number, and finite. A whole one stays whole."""
    if not isinstance(value, float):
        return expect(value, int)
    if not abs(value) <= _MOST:
        raise ValueError(f"{value} is not a quantity")
    return value


def expect(value: object, kind: type[Kind]) -> Kind:
    """The same value; it must be of this type. A truth value is not a number."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{str(value)[:40]!r} is not of the type {kind.__name__}")
    if isinstance(value, int) and abs(value) > _MOST:
        raise ValueError("a number is too large for a quantity")
    return value

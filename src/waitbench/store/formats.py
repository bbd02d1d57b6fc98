"""JSON files of results, validated when read: they may be damaged, or another program's."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from waitbench.model.errors import UsageError
from waitbench.model.scenario import Topology
from waitbench.system import files

FORMAT = 3
_Kind = TypeVar("_Kind")


class _Format(msgspec.Struct):
    format: int


@contextmanager
def errors_explained(path: Path, line: int | None = None, remedy: str = "") -> Iterator[None]:
    """Turns an error of reading a file, or a line of it, into a ``UsageError`` with a remedy."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else repr(error)
        if isinstance(error, OSError):
            why = str(error.strerror)
        if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
            why = f"it is cut off or damaged: {error}"
        place, content = repr(str(path)), "a result file"
        if line is not None:
            place, content = f"Line {line} of {place}", "a run"
        raise UsageError(
            f"{place} is not {content} of waitbench ({why}). {remedy}".rstrip()
        ) from error


def read(folder: Path, kind: str, into: type[_Kind], remedy: str = "") -> _Kind | None:
    """Reads a file of ``write`` into a type; ``None`` if it is missing. Raises ``UsageError``."""
    path = folder / f"{kind}.json"
    if not files.is_there(path):
        return None
    with errors_explained(path, remedy=remedy):
        data = json.loads(files.read(path))
        version = msgspec.convert(data, _Format).format
        if version != FORMAT:
            raise ValueError(
                f"it is of format {version}, and this version of waitbench reads format {FORMAT}: "
                "use the version that wrote it"
            )
        return convert(data, into)


def convert(data: object, into: type[_Kind]) -> _Kind:
    def hook(kind: type, value: Any) -> object:
        return Topology.parse(value) if kind is Topology else value

    return msgspec.convert(data, into, dec_hook=hook)


def to_builtins(value: object, order: Literal["deterministic"] | None = None) -> Any:
    def hook(special: Any) -> object:
        return str(special) if isinstance(special, Topology) else dict(special)

    return msgspec.to_builtins(value, enc_hook=hook, order=order)


def encode(kind: str, content: Mapping[str, object]) -> str:
    # msgspec rejects surrogates, which arguments may contain.
    return json.dumps({"format": FORMAT, "kind": kind, **content}, indent=1)


def write(folder: Path, kind: str, content: Mapping[str, object]) -> None:
    files.write_text(folder / f"{kind}.json", encode(kind, content))

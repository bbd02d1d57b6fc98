"""The change points of a history that were announced: each is, once."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from waitbench.model.record import Announced
from waitbench.store import formats

NAME = "acknowledged.json"


class _File(msgspec.Struct, kw_only=True, tag_field="kind", tag="acknowledged"):
    format: int = formats.FORMAT
    change_points: list[Announced]


def read(store: Path) -> frozenset[Announced]:
    """Those that were announced. Raises ``UsageError`` for a file that is not one of ours."""
    path = store / NAME
    return frozenset(formats.read(path, _File).change_points if path.exists() else ())


def add(store: Path, announced: Iterable[Announced]) -> None:
    """Saves that some were announced. Raises ``HarnessError`` when the disk refuses."""
    file = _File(change_points=sorted(read(store).union(announced)))
    formats.write(store / NAME, msgspec.to_builtins(file))

"""The change points of a history that were announced: each is, once."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from waitbench.model.record import Announced
from waitbench.store import formats

KIND = "acknowledged"


class _File(msgspec.Struct, tag_field="kind", tag=KIND):
    change_points: list[Announced]


def read(store: Path) -> frozenset[Announced]:
    """Those that were announced. Raises ``UsageError`` for a file that is not one of ours."""
    found = formats.read(store, KIND, _File)
    return frozenset(found.change_points if found else ())


def add(store: Path, announced: Iterable[Announced]) -> None:
    """Saves that some were announced. Raises ``HarnessError`` when the disk refuses."""
    every = sorted(read(store).union(announced))
    formats.write(store, KIND, {"change_points": msgspec.to_builtins(every)})

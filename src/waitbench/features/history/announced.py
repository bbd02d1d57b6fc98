"""The announced change points of a history: each is announced once."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from waitbench.model.record import Announced
from waitbench.store import formats

KIND = "acknowledged"


class _File(msgspec.Struct, tag_field="kind", tag=KIND):
    change_points: list[Announced]


def read(store: Path) -> frozenset[Announced]:
    """Raises ``UsageError`` for a file that is not one of ours."""
    file = formats.read(store, KIND, _File)
    return frozenset(file.change_points if file else ())


def add(store: Path, announced: Iterable[Announced]) -> None:
    every = sorted(read(store).union(announced))
    formats.write(store, KIND, {"change_points": msgspec.to_builtins(every)})

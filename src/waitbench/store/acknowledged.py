"""The change points of a history that were announced: each is, once."""

import json
from collections.abc import Iterable
from pathlib import Path

import msgspec

from waitbench.model.record import Announced
from waitbench.store.formats import FORMAT, format_of
from waitbench.store.plain import parse, reading
from waitbench.system import files

NAME = "acknowledged.json"


class _File(msgspec.Struct):
    change_points: list[Announced]


def read(store: Path) -> frozenset[Announced]:
    """Those that were announced. Raises ``UsageError`` for a file that is not one of ours."""
    path = store / NAME
    if not path.exists():
        return frozenset()
    with reading(path):
        data = parse(path.read_bytes())
        format_of(data)
        return frozenset(msgspec.convert(data, _File).change_points)


def add(store: Path, announced: Iterable[Announced]) -> None:
    """Keeps that some were announced. Raises ``HarnessError`` when the disk refuses."""
    plain = msgspec.to_builtins(_File(sorted(read(store).union(announced))))
    content = {"format": FORMAT, "kind": "acknowledged", **plain}
    files.write_text(store / NAME, json.dumps(content, indent=1))

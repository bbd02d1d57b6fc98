"""The steps of a history that were announced: each is, once. Kept beside the comparisons."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from waitbench.model.record import Series
from waitbench.store.formats import FORMAT, format_of
from waitbench.store.plain import parse, reading
from waitbench.system import files

NAME = "acknowledged.json"

Step = tuple[Series, str, str]
"""Series, metric, and the first revision that costs otherwise."""


class _Step(msgspec.Struct, kw_only=True):
    scenario: str
    topology: str
    parameters: dict[str, Any]
    metric: str
    after: str


class _File(msgspec.Struct):
    steps: list[_Step]


def read(store: Path) -> frozenset[Step]:
    """The steps that were announced. Raises ``UsageError`` for a file that is not one of ours."""
    path = store / NAME
    if not path.exists():
        return frozenset()
    with reading(path):
        data = parse(path.read_bytes())
        format_of(data)
        return frozenset(
            (Series.of(one.scenario, one.topology, one.parameters), one.metric, one.after)
            for one in msgspec.convert(data, _File).steps
        )


def add(store: Path, steps: Iterable[Step]) -> None:
    """Keeps that steps were announced. Raises ``HarnessError`` when the disk refuses."""
    kept = sorted(read(store).union(steps))
    plain = [
        _Step(
            scenario=series.scenario,
            topology=series.topology,
            parameters=dict(series.as_mapping),
            metric=metric,
            after=after,
        )
        for series, metric, after in kept
    ]
    content = {"format": FORMAT, "kind": "acknowledged", **msgspec.to_builtins(_File(plain))}
    files.write_text(store / NAME, json.dumps(content, indent=1))

"""The steps of a history that were announced: each is, once. Kept beside the comparisons."""

import json
from collections.abc import Iterable
from pathlib import Path

from waitbench.model.series import Series
from waitbench.store.formats import FORMAT, format_of
from waitbench.store.plain import parse, reading, take, take_objects
from waitbench.system import files

NAME = "acknowledged.json"

Step = tuple[Series, str, str]
"""Series, metric, and the first revision that costs otherwise."""


def read(store: Path) -> frozenset[Step]:
    """The steps that were announced. Raises ``UsageError`` for a file that is not one of ours."""
    path = store / NAME
    if not path.exists():
        return frozenset()
    with reading(path):
        data = parse(path.read_bytes())
        format_of(data)
        return frozenset(
            (
                Series.of(
                    take(step, "scenario", str),
                    take(step, "topology", str),
                    take(step, "parameters", dict),
                ),
                take(step, "metric", str),
                take(step, "after", str),
            )
            for step in take_objects(data, "steps")
        )


def add(store: Path, steps: Iterable[Step]) -> None:
    """Keeps that steps were announced. Raises ``HarnessError`` when the disk refuses."""
    kept = sorted(read(store).union(steps))
    plain = [
        {
            "scenario": series.scenario,
            "topology": series.topology,
            "parameters": series.as_mapping,
            "metric": metric,
            "after": after,
        }
        for series, metric, after in kept
    ]
    content = {"format": FORMAT, "kind": "acknowledged", "steps": plain}
    files.write_text(store / NAME, json.dumps(content, indent=1))

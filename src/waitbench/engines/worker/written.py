"""Metrics of a worker's own: the lines of JSON that its command writes to ``{metrics}``."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from waitbench.model.metrics import OWN, Metric, quantile
from waitbench.model.worker import MetricFile

_UNITS = {"s": "second", "B": "byte"}
_MOST = 1e15
_MOST_SHOWN = 60


def metrics_of(name: str, file: MetricFile) -> tuple[Metric, ...]:
    """What a run gives of one: ``call-time-p99`` and others, or the one that has its name."""
    unit = _UNITS.get(file.unit, file.unit)
    with_unit = "" if unit in ("second", "byte", "count") else f" ({unit})"
    return tuple(
        Metric(
            "-".join((name, *shown)),
            f"{OWN}{'_'.join((*name.split('-'), *shown))}",
            "count" if shown == ("count",) else unit,
            " ".join((name, *shown)) + with_unit,
        )
        for shown in _shown(file)
    )


def _shown(file: MetricFile) -> list[tuple[str, ...]]:
    return [(one,) for one in file.show] or [()]


def read(paths: Sequence[Path], files: Mapping[str, MetricFile]) -> Mapping[str, float]:
    """The metrics of a run by their keys, of what each copy of the worker wrote.

    Raises ``ValueError`` with a sentence for whatever is missing or damaged.
    """
    numbers: dict[str, list[float]] = {}
    for path in paths:
        for name, values in _lines(path, files):
            numbers.setdefault(name, []).extend(values)
    found = {}
    for name, file in files.items():
        if name not in numbers:
            raise ValueError(f"it wrote no {name} to {{metrics}}")
        for metric, shown in zip(metrics_of(name, file), file.show or ("",), strict=True):
            found[metric.key] = _statistic(name, numbers[name], shown)
    return found


def _lines(path: Path, files: Mapping[str, MetricFile]) -> Iterator[tuple[str, list[float]]]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                yield from _line(line, f"line {number} of {{metrics}}", files)
    except FileNotFoundError as error:
        raise ValueError("it did not write the file {metrics}") from error
    except OSError as error:
        raise ValueError(f"the file {{metrics}} cannot be read: {error.strerror}") from error


def _line(
    line: bytes, where: str, files: Mapping[str, MetricFile]
) -> Iterator[tuple[str, list[float]]]:
    try:
        table = json.loads(line)
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        shown = line.decode("utf-8", "replace").strip()[:_MOST_SHOWN]
        raise ValueError(f"{where} is not a JSON object: {shown!r}")
    for name, value in table.items():
        if name not in files:
            there = ", ".join(files)
            raise ValueError(
                f"{where} has {name[:_MOST_SHOWN]!r}, which is not one of the [metrics]: {there}"
            )
        values: list[Any] = value if isinstance(value, list) else [value]
        if not all(_is_number(one) for one in values):
            raise ValueError(f"{where}: {name} is neither a number nor a list of numbers")
        yield name, values


def _is_number(value: object) -> bool:
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_one and math.isfinite(value) and abs(value) <= _MOST  # type: ignore[arg-type]


def _statistic(name: str, values: Sequence[float], shown: str) -> float:
    if shown == "count":
        return len(values)
    if shown == "total":
        return math.fsum(values)
    if not values:
        raise ValueError(f"it wrote no numbers of {name} to {{metrics}}")
    if not shown:
        if len(values) > 1:
            raise ValueError(
                f"it wrote {len(values)} numbers of {name} to {{metrics}}, where one is due: say "
                "in show what is shown of them"
            )
        return float(values[0])
    if shown == "mean":
        return fmean(values)
    if shown in ("min", "max"):
        return float(min(values) if shown == "min" else max(values))
    return quantile(values, int(shown.removeprefix("p")) / 100)

"""Metrics that a worker's command writes to ``{metrics}``, a line of JSON each."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import msgspec

from waitbench.model.metrics import BEYOND, OWN, Finite, Metric
from waitbench.model.worker import MetricFile
from waitbench.system.files import read as read_file

_UNITS = {"s": "second", "B": "byte"}
_MAX_CHARS = 60
_LINE = msgspec.json.Decoder(dict[str, Finite | list[Finite]])


def declared_metrics(name: str, file: MetricFile) -> tuple[Metric, ...]:
    """Makes the metrics of one table: ``call-time-p99`` and others, or one of the table's name."""
    unit = _UNITS.get(file.unit, file.unit)
    with_unit = "" if unit in ("second", "byte", "count") else f" ({unit})"
    statistics: list[tuple[str, ...]] = [(statistic,) for statistic in file.show] or [()]
    return tuple(
        Metric(
            "-".join((name, *shown)),
            f"{OWN}{'_'.join((*name.split('-'), *shown))}",
            "count" if shown == ("count",) else unit,
            " ".join((name, *shown)) + with_unit,
        )
        for shown in statistics
    )


def read(paths: Sequence[Path], files: Mapping[str, MetricFile]) -> Mapping[str, float]:
    """Reads a run's own metrics, of all its copies. Raises ``ValueError`` with a sentence."""
    numbers: dict[str, list[float]] = {}
    for path in paths:
        try:
            lines = read_file(path).splitlines()
        except FileNotFoundError as error:
            raise ValueError("it did not write the file {metrics}") from error
        except OSError as error:
            raise ValueError(f"the file {{metrics}} cannot be read: {error.strerror}") from error
        for number, line in enumerate(lines, start=1):
            for name, values in _values(line, f"line {number} of {{metrics}}", files).items():
                numbers.setdefault(name, []).extend(values)
    values_by_key = {}
    for name, file in files.items():
        if name not in numbers:
            raise ValueError(f"it wrote no {name} to {{metrics}}")
        for metric, shown in zip(declared_metrics(name, file), file.show or ("",), strict=True):
            values_by_key[metric.key] = value = _statistic(name, numbers[name], shown)
            if not abs(value) <= BEYOND:
                raise ValueError(f"its {metric.name} in {{metrics}} is beyond {BEYOND:g}")
    return values_by_key


def _values(line: bytes, where: str, files: Mapping[str, MetricFile]) -> dict[str, list[float]]:
    try:
        values_by_name = _LINE.decode(line)
    except (ValueError, RecursionError) as error:
        shown = line.decode("utf-8", "replace").strip()[:_MAX_CHARS]
        raise ValueError(
            f"{where} is not a JSON object of numbers and lists of numbers: {shown!r}"
        ) from error
    for name in values_by_name:
        if name not in files:
            there = ", ".join(files)
            raise ValueError(
                f"{where} has {name[:_MAX_CHARS]!r}, which is not one of the [metrics]: {there}"
            )
    return {name: it if isinstance(it, list) else [it] for name, it in values_by_name.items()}


def _statistic(name: str, values: Sequence[float], shown: str) -> float:
    if shown == "count":
        return len(values)
    if shown == "total":
        return math.fsum(values)
    if not values:
        raise ValueError(f"it wrote no numbers of {name} to {{metrics}}")
    if not shown and len(values) > 1:
        raise ValueError(
            f"it wrote {len(values)} numbers of {name} to {{metrics}}, where one is expected. "
            "For several, add the key show"
        )
    if shown in ("min", "max"):
        return float(min(values) if shown == "min" else max(values))
    if shown in ("", "mean"):
        return fmean(values)
    # Imported here: not every command measures, and no run is under way now.
    import numpy as np

    return float(np.percentile(values, int(shown.removeprefix("p"))))

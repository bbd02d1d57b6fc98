"""Metrics of worker files: those that waitbench measures, and those that a command writes.

A command writes its metrics to the file ``{metrics}``: each line is a JSON object, such as
``{"jobs": 3}``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean

import msgspec

from waitbench.model import metrics
from waitbench.model.metrics import SERVICES, UNTIL_EXIT, WAITING, Finite, Metric
from waitbench.model.worker import MetricTable, WorkerFile
from waitbench.system.files import read as read_file

LATENESS = frozenset({"item_latency_p50", "item_latency_p99", "item_latency_max"})
"""Keys of metrics that need a poke."""
OF_LIVING = frozenset({metrics.MEMORY.key, metrics.MEMORY_GROWTH, "processes_replaced"})
"""Keys of metrics that need a worker that is alive at the end of the window."""
REQUESTS = frozenset({metrics.SERVICE_REQUESTS, metrics.SERVICE_BYTES})
"""Keys of metrics that need a running service and a way to count its requests."""

_MISSING = frozenset(
    {"memory_peak_resident", "time_shutdown", metrics.IDLE_USER, metrics.IDLE_SYSTEM}
    | {"context_switches_voluntary", "context_switches_involuntary"}
)
"""Keys of metrics that no run of a worker file has.

The kernel's counters do not split the window's CPU into user and system time. The peak memory of a
small worker is below that of the launcher. The metric ``stop`` replaces the shutdown time. Switches
would include those in the wait for other runs of a batch.
"""
_UNITS = {"s": "second", "B": "byte"}
_MAX_CHARS = 60
_LINE = msgspec.json.Decoder(dict[str, Finite | list[Finite]])


def metrics_of(worker: WorkerFile, absent: Iterable[str] = ()) -> tuple[Metric, ...]:
    """Returns the metrics of a worker's runs, without those whose keys are ``absent``."""
    missing = {*_MISSING, *absent}
    if not worker.services:
        missing |= {metric.key for metric in SERVICES}
    if worker.ends_by_itself:
        # Such a command is busy: none of its CPU is the cost of waiting.
        missing |= {metric.key for metric in metrics.METRICS if metric.is_of_window}
        missing.add("time_cpu_shutdown")
    common = (*metrics.METRICS, *(UNTIL_EXIT if worker.ends_by_itself else WAITING))
    declared = (declared_metrics(name, file) for name, file in worker.metrics.items())
    present = (metric for metric in common if metric.key not in missing)
    return (*present, *chain.from_iterable(declared))


def declared_metrics(name: str, file: MetricTable) -> tuple[Metric, ...]:
    """Makes the metrics of a table ``[metrics.NAME]``: NAME-STATISTIC for each, or only NAME."""
    unit = _UNITS.get(file.unit, file.unit)
    with_unit = "" if unit in ("second", "byte", "count") else f" ({unit})"
    suffixes: list[tuple[str, ...]] = [(statistic,) for statistic in file.show] or [()]
    return tuple(
        Metric(
            "-".join((name, *suffix)),
            f"{metrics.OWN}{'_'.join((*name.split('-'), *suffix))}",
            "count" if suffix == ("count",) else unit,
            " ".join((name, *suffix)) + with_unit,
        )
        for suffix in suffixes
    )


def read_written(paths: Sequence[Path], files: Mapping[str, MetricTable]) -> Mapping[str, float]:
    """Reads the metrics that the copies of a worker wrote, by key. Raises ``ValueError``."""
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
        statistics = file.show or ("",)
        for metric, statistic in zip(declared_metrics(name, file), statistics, strict=True):
            values_by_key[metric.key] = value = _statistic(name, numbers[name], statistic)
            if not abs(value) <= metrics.MOST:
                raise ValueError(f"its {metric.name} in {{metrics}} is beyond {metrics.MOST:g}")
            if value < 0:
                raise ValueError(
                    f"its {metric.name} in {{metrics}} is negative, but a cost cannot be"
                )
    return values_by_key


def _values(line: bytes, where: str, files: Mapping[str, MetricTable]) -> dict[str, list[float]]:
    try:
        values_by_name = _LINE.decode(line)
    except (ValueError, RecursionError) as error:
        shown = line.decode("utf-8", "replace").strip()[:_MAX_CHARS]
        raise ValueError(
            f"{where} is not a JSON object of numbers and lists of numbers: {shown!r}"
        ) from error
    if unknown := [name for name in values_by_name if name not in files]:
        raise ValueError(
            f"{where} has {unknown[0][:_MAX_CHARS]!r}, which is not one of the [metrics]: "
            f"{', '.join(files)}"
        )
    return {
        name: values if isinstance(values, list) else [values]
        for name, values in values_by_name.items()
    }


def _statistic(name: str, values: Sequence[float], statistic: str) -> float:
    if statistic in ("count", "total"):
        return len(values) if statistic == "count" else math.fsum(values)
    if not values:
        raise ValueError(f"it wrote no numbers of {name} to {{metrics}}")
    if not statistic and len(values) > 1:
        raise ValueError(
            f"it wrote {len(values)} numbers of {name} to {{metrics}}, where one is expected. "
            "For several, add the key show"
        )
    if statistic in ("", "mean"):
        return fmean(values)
    if statistic in ("min", "max"):
        return float(min(values) if statistic == "min" else max(values))
    # Imported here: few commands need it, and no run is under way that it could disturb.
    import numpy as np

    return float(np.percentile(values, int(statistic.removeprefix("p"))))

"""Reads the criteria of ``--fail-on`` and ``--limit``."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from waitbench.analysis.criteria import ALLOWANCE_UNITS, Criterion
from waitbench.analysis.limits import Limit
from waitbench.model.errors import UsageError
from waitbench.model.metrics import BY_SECOND, Metric

_CRITERION = re.compile(
    r"(?P<metric>[a-z0-9-]+):(?P<percent>\d{1,4}(\.\d{1,9})?)%"
    r"(,(?P<allowance>\d{1,9}(\.\d{1,6})?)(?P<unit>[A-Za-z]*))?(?P<alone>,alone)?(?P<each>,each)?",
    re.ASCII,
)

LIMIT = "limit "
"""Prefix of the text of a limit, among criteria."""
_LIMIT = re.compile(r"([a-z0-9-]+):(\d{1,12}(?:\.\d{1,12})?) ?(.{0,20})", re.ASCII)
_SIZES: Mapping[str, Mapping[str, float]] = {
    "second": {"s": 1.0, "ms": 1e-3, "us": 1e-6},
    "byte": {
        "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    },
    "core": {"%": 0.01},
    "count": {"": 1.0},
}  # fmt: skip
"""The units of limits by the unit of the metric."""


def parse(texts: Sequence[str], metrics: Sequence[Metric]) -> tuple[Criterion, ...]:
    """Reads ``METRIC:PERCENT%[,ALLOWANCE][,alone][,each]``, and ``limit METRIC:VALUE``.

    Raises ``UsageError`` with the right form.
    """
    return tuple(
        _limit(text.removeprefix(LIMIT).strip(), metrics)
        if text.startswith(LIMIT)
        else _parsed(text.strip(), metrics)
        for text in texts
    )


def _parsed(text: str, metrics: Sequence[Metric]) -> Criterion:
    match = _CRITERION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--fail-on {text!r} is not METRIC:PERCENT%[,ALLOWANCE][,alone][,each], such as "
            "idle:10%, or system:10%,20ms, or wakeups:5%,alone, or cpu:25%,each."
        )
    metric = metric_named(match["metric"], metrics, f"--fail-on {text!r}")
    unit, size = ALLOWANCE_UNITS.get(metric.unit, ("", Decimal(1)))
    if match["allowance"] and match["unit"] != unit:
        raise UsageError(
            f"--fail-on {text!r}: an allowance for {metric.name} is written as 20{unit}."
        )
    if match["alone"] and metric.explains is None:
        raise UsageError(
            f"--fail-on {text!r}: 'alone' is for what explains a cost, such as wakeups, and "
            f"{metric.name} explains none."
        )
    return Criterion(
        metric=metric,
        margin=float(Decimal(match["percent"]) / 100),
        allowance=float(Decimal(match["allowance"] or 0) * size),
        alone=match["alone"] is not None,
        each=match["each"] is not None,
    )


def _limit(text: str, metrics: Sequence[Metric]) -> Criterion:
    option = f"--limit {text!r}"
    match = _LIMIT.fullmatch(text)
    if match is None or float(match[2]) == 0:
        raise UsageError(
            f"{option} is not METRIC:VALUE with a value above 0, such as idle:0.5%, wakeups:5/s or "
            "memory:80MB."
        )
    name, number, unit = match.groups()
    if unit == "%" and name == "idle":
        name = "share"
    metric = metric_named(name, metrics, option)
    by_second, sizes = name in BY_SECOND, _SIZES.get(metric.unit, {metric.unit: 1.0})
    if by_second:
        is_cpu = metric.unit == "second"
        sizes = _SIZES["core"] if is_cpu else {f"{unit}/s": size for unit, size in sizes.items()}
    if unit not in sizes:
        units = (*sizes, *(["%"] if name == "idle" else []))
        texts = " or ".join(f"{name}:{number}{right}" for right in units)
        raise UsageError(f"{option}: a limit of {metric.title} is written as {texts}.")
    return Criterion(
        metric=metric,
        margin=0.0,
        each=True,
        alone=True,
        limit=Limit(
            text=text,
            most=float(number) * sizes[unit],
            unit=unit,
            size=sizes[unit],
            by_second=by_second,
        ),
    )


def metric_named(name: str, metrics: Sequence[Metric], option: str) -> Metric:
    """Finds a metric by name. Raises ``UsageError`` that begins with the option."""
    by_name = {metric.name: metric for metric in metrics}
    if name not in by_name:
        raise UsageError(f"{option}: there is no metric {name!r}. There are: {', '.join(by_name)}.")
    return by_name[name]

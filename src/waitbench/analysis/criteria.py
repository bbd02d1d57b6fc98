"""What a candidate must not do, as a user writes it: criteria such as ``system:10%``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.model.errors import UsageError
from waitbench.model.metrics import Metric

_UNITS = {
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "b": 1.0,
    "kib": 2.0**10,
    "mib": 2.0**20,
    "": 1.0,
}
_CRITERION = re.compile(r"(?P<metric>[a-z0-9-]+):(?P<percent>[^%,]*)%(?P<rest>(,[^,]*)*)")
_FLOOR = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-zµ]*)")
_EXAMPLE = "such as system:10%, or system:10%,20ms, or system:10%,alone"


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """What a candidate must not do."""

    metric: Metric
    margin: float
    """Allowed rise, as a share: 0.1 for 10 %."""
    floor: float = 0.0
    """A rise of the mean below this, in the metric's unit, never fails."""
    alone: bool = False
    """Judge system time without regard to total CPU."""

    @property
    def may_move(self) -> bool:
        """Whether a rise may be forgiven because total CPU fell by more."""
        return self.metric.name == "system" and not self.alone

    def __str__(self) -> str:
        floor = f",{self.floor:g} {self.metric.unit}" if self.floor else ""
        return f"{self.metric.name}:{self.margin * 100:g}%{floor}{',alone' * self.alone}"


def parse(texts: Sequence[str], metrics: Sequence[Metric]) -> tuple[Criterion, ...]:
    """Reads ``METRIC:PERCENT%[,FLOOR][,alone]``, the names being those of ``metrics``.

    Raises ``UsageError`` that says what would be right.
    """
    return tuple(_criterion(text, metrics) for text in texts)


def _criterion(text: str, metrics: Sequence[Metric]) -> Criterion:
    match = _CRITERION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--fail-on {text!r} is not METRIC:PERCENT%, {_EXAMPLE}.")
    metric = _metric(match["metric"], text, metrics)
    floor, alone = 0.0, False
    for part in filter(None, match["rest"].split(",")):
        if part.strip() == "alone":
            alone = True
        else:
            floor = _floor(part.strip(), text)
    if alone and metric.name != "system":
        raise UsageError(
            f"--fail-on {text!r}: 'alone' is for system time, which is otherwise judged together "
            "with total CPU."
        )
    margin = _margin(match["percent"], text)
    return Criterion(metric=metric, margin=margin, floor=floor, alone=alone)


def _metric(name: str, text: str, metrics: Sequence[Metric]) -> Metric:
    found = next((metric for metric in metrics if metric.name == name), None)
    if found is None:
        names = ", ".join(metric.name for metric in metrics)
        raise UsageError(f"--fail-on {text!r}: there is no metric {name!r}. There are: {names}.")
    return found


def _margin(percent: str, text: str) -> float:
    try:
        margin = float(percent) / 100
    except ValueError as error:
        raise UsageError(
            f"--fail-on {text!r}: {percent!r} is not a number of per cent, {_EXAMPLE}."
        ) from error
    if not 0 <= margin < 100:
        raise UsageError(f"--fail-on {text!r}: the margin must be 0 % or more, and below 10,000 %.")
    return margin


def _floor(part: str, text: str) -> float:
    match = _FLOOR.fullmatch(part.lower())
    if match is None or match["unit"] not in _UNITS:
        raise UsageError(
            f"--fail-on {text!r}: {part!r} is neither a floor, such as 20ms or 5MiB, nor 'alone'."
        )
    return float(match["number"]) * _UNITS[match["unit"]]

"""Reads what ``--fail-on`` names."""

import re
from collections.abc import Sequence

from waitbench.analysis.criteria import FLOORS, Criterion
from waitbench.model.errors import UsageError
from waitbench.model.metrics import Metric

_CRITERION = re.compile(
    r"(?P<metric>[a-z0-9-]+):(?P<percent>\d{1,4}(\.\d+)?)%"
    r"(,(?P<floor>\d{1,12}(\.\d+)?)(?P<unit>[A-Za-z]*))?(?P<alone>,alone)?(?P<each>,each)?",
    re.ASCII,
)


def parse(texts: Sequence[str], metrics: Sequence[Metric]) -> tuple[Criterion, ...]:
    """Reads ``METRIC:PERCENT%[,FLOOR][,alone][,each]``. The metrics are those given.

    Raises ``UsageError`` that says what would be right.
    """
    return tuple(_parsed(text.strip(), metrics) for text in texts)


def _parsed(text: str, metrics: Sequence[Metric]) -> Criterion:
    match = _CRITERION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--fail-on {text!r} is not METRIC:PERCENT%[,FLOOR][,alone][,each], such as "
            "steady:10%, or system:10%,20ms, or wakeups:5%,alone, or cpu:25%,each."
        )
    metric = next((one for one in metrics if one.name == match["metric"]), None)
    if metric is None:
        names = ", ".join(one.name for one in metrics)
        raise UsageError(
            f"--fail-on {text!r}: there is no metric {match['metric']!r}. There are: {names}."
        )
    unit, size = FLOORS.get(metric.unit, ("", 1.0))
    if match["floor"] and match["unit"] != unit:
        raise UsageError(f"--fail-on {text!r}: a floor for {metric.name} is written as 20{unit}.")
    if match["alone"] and metric.explains is None:
        raise UsageError(
            f"--fail-on {text!r}: 'alone' is for what explains a cost, such as wakeups, and "
            f"{metric.name} explains none."
        )
    return Criterion(
        metric=metric,
        margin=float(match["percent"]) / 100,
        floor=float(match["floor"] or 0) * size,
        alone=match["alone"] is not None,
        each=match["each"] is not None,
    )

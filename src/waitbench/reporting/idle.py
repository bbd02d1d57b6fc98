"""The table of idle costs: per cent of a core, events per second, memory and money."""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import repeat

from waitbench.analysis.statistics import Comparison
from waitbench.model.errors import UsageError
from waitbench.model.verdicts import Estimate
from waitbench.reporting.document import Cell, Column, Dot, Heading, Table, TextCell
from waitbench.reporting.drawing import Axis
from waitbench.reporting.formats import (
    NOTHING,
    format_count,
    format_digits,
    format_quantity,
    format_span,
)

_HOURS_A_MONTH = 365.25 * 24 / 12
_AXIS_START, _LEAST_AXIS_END = 1e-4, 0.1
"""The low end of the axis, and the least high end, in cores."""
_FIGURES = (
    ("wakes/s", "wakeups", ""),
    ("calls/s", "syscalls", ""),
    ("late", "latency-p50", "second"),
    ("memory", "memory", "byte"),
    ("peak", "rss", "byte"),
    ("requests/s\nto services", "service-requests", ""),
    ("bytes/s\nservices", "service-bytes", ""),
    ("% core\nservices", "service-cpu", "core"),
)
"""The other columns: heading, metric and unit."""


def parse_price(text: str) -> float:
    """The price of a core for a month, from ``0.04/core-hour``. Raises ``UsageError``."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)/core-hour", text)
    if match is None or not float(match[1]):
        raise UsageError(f"--price {text!r} is not AMOUNT/core-hour, such as 0.04/core-hour.")
    return float(match[1]) * _HOURS_A_MONTH


def tables(
    comparisons: Iterable[Comparison], price: float | None = None, *, grouped: bool = True
) -> list[Table]:
    """The table of the workers that only wait, except in a scan; ``grouped`` by scenario.

    Where a worker works, CPU is not the cost of waiting. ``price`` is that of a core for a month.
    Each worker has a row, the costliest first and failed workers last; each figure of any worker
    has a column.
    """
    specs = ((it, it.record.spec) for it in comparisons)
    waiting = [it for it, spec in specs if spec.waits and not spec.works and spec.scan is None]
    all_costs = [
        (it.record.scenario, label, it.idle_cost(label)) for it in waiting for label in it.figures
    ]
    costs = [row for row in all_costs if row[2] or not grouped]
    if not any(cost for *_, cost in costs):
        return []
    rounds = max(it.rounds for it in waiting)
    rows = sorted(costs, key=lambda row: -row[2].cores.value if row[2] else math.inf)
    idle_costs = [cost for *_, cost in rows]
    span = format_span((cost.window_s for cost in idle_costs if cost and cost.window_s), ".0f")
    runs = "one run each: rough figures" if rounds == 1 else f"{rounds} runs each"
    title = f"{format_count(len(rows), 'idle worker', 'idle workers')}, "
    title += f"{span} s, {runs}" if span else runs
    names = [
        label if grouped or label == worker else f"{worker} {label}" for worker, label, _ in rows
    ]
    cores = [cost.cores if cost else None for cost in idle_costs]
    columns: list[Column] = [
        (Heading("worker"), names),
        figure_column("% core", [it.value if it else None for it in cores], "core"),
        dot_column(cores),
    ]
    if price is not None:
        prices = [it.value * price if it else None for it in cores]
        columns.append(figure_column("per month", prices))
    for text, metric, unit in _FIGURES:
        values = [cost.figures.get(metric) if cost else None for cost in idle_costs]
        if any(value is not None for value in values):
            columns.append(figure_column(text, values, unit))
    return [Table(title, columns, groups=[worker for worker, *_ in rows] if grouped else ())]


def figure_column(text: str, values: Sequence[float | None], unit: str = "") -> Column:
    is_optional = text == "calls/s" or "\n" in text
    cells = [NOTHING if it is None else TextCell(text=_format(it, unit), sort=it) for it in values]
    return Heading(text, is_left=False, is_optional=is_optional), cells


def dot_column(cores: Sequence[Estimate | None], colours: Iterable[str] = repeat("")) -> Column:
    """Dots on a logarithmic axis that begins at a hundredth of a per cent of a core."""
    most = max([_LEAST_AXIS_END, *(it.value for it in cores if it)])
    decade = 10.0 ** math.floor(math.log10(most))
    high = next(step * decade for step in (1, 2, 5, 10) if step * decade >= most)
    decades = math.floor(math.log10(high / _AXIS_START) + 1e-9)
    ticks = [_AXIS_START * 10**number for number in range(decades + 1)]
    texts = tuple((tick, f"{tick * 100:g}".lstrip("0")) for tick in ticks)
    cells: list[Cell] = [
        Dot(estimate, None, colour) if estimate else ""
        for estimate, colour in zip(cores, colours, strict=False)
    ]
    return Heading("% of a core, logarithmic", axis=Axis(_AXIS_START, high, texts)), cells


def _format(value: float, unit: str) -> str:
    if unit == "core":
        return "< .01" if value < _AXIS_START else _format(value * 100, "")
    return format_quantity(value, unit, 2) if unit else format_digits(value, 2, zeros=True)

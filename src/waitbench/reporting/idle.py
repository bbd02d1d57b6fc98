"""Costs of waiting -> a table in plain units, with dots on an axis of per cent of a core."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from waitbench.analysis.idle import IdleCost, idle_cost, idle_costs
from waitbench.analysis.statistics import Comparison
from waitbench.model.errors import UsageError
from waitbench.reporting.document import Column, Dot, Heading, Table, Word
from waitbench.reporting.drawing import Axis, colours_of
from waitbench.reporting.formats import NOTHING, format_count, format_digits, format_quantity

HOURS_A_MONTH = 365.25 * 24 / 12
"""730.5."""
_LEAST, _USUAL = 1e-4, 0.1
"""Of a core: where the axis begins, and how far it reaches at least."""
_CHARACTERS = 18


@dataclass(frozen=True)
class Price:
    """What a core costs by the hour, in any currency."""

    amount: float

    @classmethod
    def parse(cls, text: str) -> "Price":
        """Reads ``0.04/core-hour``. Raises ``UsageError``."""
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)/core-hour", text)
        if match is None or not float(match[1]):
            raise UsageError(f"--price {text!r} is not AMOUNT/core-hour, such as 0.04/core-hour.")
        return cls(float(match[1]))

    def of(self, cost: IdleCost) -> float:
        """What a revision costs a month."""
        return cost.cores.value * HOURS_A_MONTH * self.amount


def tables(comparisons: Iterable[Comparison], price: Price | None = None) -> list[Table]:
    """One table of all scenarios that wait, a row for each revision; none where nothing waits.

    What is one of many values of a scan is left out.
    """
    compared = [one for one in comparisons if one.record.scan is None]
    costs = idle_costs(compared)
    if not costs:
        return []
    made = table(
        "what waiting costs, all workers of a run together",
        "revision",
        [(cost.label, cost) for cost in costs],
        price,
        colours_of([row.label for row in compared[0].rows]),
    )
    return [replace(made, groups=[cost.scenario for cost in costs])]


def costs_of(worker: Comparison) -> list[tuple[str, IdleCost | None]]:
    """The name of each version of a worker, and what it costs where that was measured."""
    name = worker.scenario
    return [
        (name if name == row.label else f"{name} {row.label}", idle_cost(row, worker))
        for row in worker.rows
    ]


def side_by_side(
    rows: Sequence[tuple[str, IdleCost | None]], rounds: int, price: Price | None = None
) -> Table:
    """Versions of several workers, the dearest first; those that failed at the end."""
    ordered = sorted(rows, key=lambda row: -row[1].cores.value if row[1] else math.inf)
    windows = sorted(cost.window_s for _, cost in ordered if cost and cost.window_s)
    ends = dict.fromkeys(f"{window:.0f}" for window in windows[:1] + windows[-1:])
    runs = "one run each: orders of magnitude" if rounds == 1 else f"{rounds} runs each"
    title = f"{format_count(len(ordered), 'idle worker', 'idle workers')}, "
    title += f"{'–'.join(ends)} s, {runs}" if ends else runs
    return table(title, "worker", ordered, price)


def table(
    title: str,
    who: str,
    rows: Sequence[tuple[str, IdleCost | None]],
    price: Price | None,
    colours: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """A row for each cost behind its name, a column for each figure that one of them has."""
    axis = axis_of(rows)
    columns: list[Column] = [(Heading(who), [name for name, _ in rows])]
    for heading, value, write in _figures(price):
        values = [None if cost is None else value(cost) for _, cost in rows]
        if any(value is not None for value in values):
            cells = [NOTHING if it is None else Word(text=write(it), sort=it) for it in values]
            columns.append((heading, cells))
    dots = [dot_of(cost, axis, colours.get(name, "")) if cost else "" for name, cost in rows]
    columns.insert(2, (Heading("% of a core, logarithmic", axis=axis), dots))
    return Table(title, columns)


_Figure = tuple[Heading, Callable[[IdleCost], float | None], Callable[[float], str]]
"""A heading, what stands below it, and how that is written."""


def _figures(price: Price | None) -> Iterator[_Figure]:
    yield Heading("% core", is_left=False), lambda cost: cost.cores.value, write_cores
    if price is not None:
        yield Heading("per month", is_left=False), price.of, _write
    figures: Sequence[tuple[str, str, Callable[[float], str]]] = (
        ("wakes/s", "wakeups", _write),
        ("calls/s", "syscalls", _write),
        ("late", "latency-p50", partial(_write, unit="second")),
        ("memory", "memory", partial(_write, unit="byte")),
        ("peak", "rss", partial(_write, unit="byte")),
        ("requests/s\nto services", "service-requests", _write),
        ("bytes/s\nservices", "service-bytes", _write),
        ("% core\nservices", "service-cpu", write_cores),
    )
    for text, metric, write in figures:
        gives_way = metric == "syscalls" or "\n" in text
        yield Heading(text, is_left=False, gives_way=gives_way), _of(metric), write


def _of(metric: str) -> Callable[[IdleCost], float | None]:
    return lambda cost: cost.figures.get(metric)


def axis_of(rows: Iterable[tuple[str, IdleCost | None]]) -> Axis:
    """The axis of shares of a core, from a hundredth of a per cent on."""
    most = max([_USUAL, *(cost.cores.value for _, cost in rows if cost is not None)])
    decade = 10.0 ** math.floor(math.log10(most))
    high = next(step * decade for step in (1, 2, 5, 10) if step * decade >= most)
    decades = math.floor(math.log10(high / _LEAST) + 1e-9)
    ticks = [_LEAST * 10**number for number in range(decades + 1)]
    return Axis(_LEAST, high, tuple((it, f"{it * 100:g}".lstrip("0")) for it in ticks), _CHARACTERS)


def dot_of(cost: IdleCost, axis: Axis, colour: str = "") -> Dot:
    """What a worker uses on the axis, which a console has as text."""
    place = axis.place(cost.cores.value)
    text = "◂" if place < 0 else "·" * round(place * _CHARACTERS) + "●"
    return Dot(cost.cores, None, colour, text=text)


def write_cores(cores: float) -> str:
    """A share of a core in per cent."""
    return "< .01" if cores < _LEAST else _write(cores * 100)


def _write(value: float, unit: str = "") -> str:
    return format_quantity(value, unit, 2) if unit else format_digits(value, 2, zeros=True)

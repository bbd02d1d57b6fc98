"""Costs of waiting -> a table in plain units, a sentence a scenario, and plain data."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from waitbench.analysis.idle import HOURS_A_MONTH, IdleCost, Price, ServiceCost, idle_costs
from waitbench.analysis.statistics import Comparison, Estimate
from waitbench.reporting.document import Cell, Heading, Table, Word
from waitbench.reporting.formats import (
    NOTHING,
    format_number,
    format_spread,
)

TITLE = "what waiting costs, in plain units"
_FLEET = 1000
"""Workers that a sentence is about: what one costs is too little to picture."""
_ONE_WORKER = "single"
"""The topology whose runs are one worker each."""


def tables(comparisons: Iterable[Comparison], price: Price | None = None) -> list[Table]:
    """One table of all scenarios that wait, a row for each revision; none where nothing waits.

    What is one of many values of a scan is left out.
    """
    costs = idle_costs(one for one in comparisons if one.scan is None)
    return [_table(costs, price)] if costs else []


def _table(costs: Sequence[IdleCost], price: Price | None) -> Table:
    columns, of_services = _columns(costs, price), list(_of_services(costs))
    one_scenario = len({cost.scenario for cost in costs}) == 1
    return Table(
        title=f"{costs[0].scenario} · {TITLE}" if one_scenario else TITLE,
        header=(
            "revision",
            *(Heading(text, short=short, is_left=False) for text, short in columns),
        ),
        rows=tuple((cost.label, *_cells(cost, price, columns, of_services)) for cost in costs),
        notes=(
            *sentences(costs, price),
            f"All workers of a run together; a month has {HOURS_A_MONTH:g} hours.",
            *_about_memory(costs),
        ),
        groups=() if one_scenario else tuple(cost.scenario for cost in costs),
        group_heading="scenario",
        least=12,
    )


def sentences(costs: Sequence[IdleCost], price: Price | None = None) -> list[str]:
    """How many cores a thousand such workers keep busy, a sentence a scenario."""
    return [
        _sentence(list(of_scenario), price)
        for _, of_scenario in groupby(costs, key=lambda cost: cost.scenario)
    ]


def plain(cost: IdleCost, price: Price | None = None) -> dict[str, Any]:
    """What is known, for JSON: rates are per second; what was not counted is absent."""
    found = {
        "cores": cost.cores.value,
        "core_hours_a_month": cost.core_hours,
        "window_s": cost.window_s,
        "wakeups_a_second": cost.wakeups,
        "system_calls_a_second": cost.system_calls,
        "memory_bytes": cost.memory_bytes,
        "services": {one.name: _plain_service(one) for one in cost.services} or None,
        "money_a_month": None if price is None else cost.money(price),
        "window_is_short": cost.is_window_too_short,
    }
    return {name: value for name, value in found.items() if value is not None}


def _plain_service(service: ServiceCost) -> dict[str, float]:
    found = {
        "cores": service.cores,
        "requests_a_second": service.requests,
        "bytes_a_second": service.bytes,
    }
    return {name: value for name, value in found.items() if value is not None}


def format_money(amount: float, price: Price) -> str:
    """An amount in the currency of a price."""
    digits = 0 if amount >= 100 else 2 if amount >= 0.01 else 4
    return f"{price.before}{amount:,.{digits}f}{f' {price.after}' if price.after else ''}"


_ALWAYS = (
    ("% of a core", "% of\na core"),
    ("core-hours a month", "core-h/\nmonth"),
)
_COUNTED = {
    "wakeups": ("wake-ups/s", "wake-\nups/s"),
    "system_calls": ("system calls/s", "system\ncalls/s"),
    "memory_bytes": ("memory", None),
}
"""Headings of what is shown where any revision has it, by field."""
_OF_SERVICE = {
    "requests": ("requests/s to {}", "requests/s\nto {}"),
    "bytes": ("bytes/s to and from {}", "bytes/s\n{}"),
    "cores": ("% of a core of {}", "% of a\ncore, {}"),
}
"""The same of each service."""
_MONEY = ("money a month", "money/\nmonth")

_Columns = Sequence[tuple[str, str | None]]


def _columns(costs: Sequence[IdleCost], price: Price | None) -> _Columns:
    return [
        *_ALWAYS,
        *([_MONEY] if price is not None else []),
        *(
            heading
            for field, heading in _COUNTED.items()
            if any(getattr(cost, field) is not None for cost in costs)
        ),
        *(
            (heading.format(name), short.format(name))
            for name, field in _of_services(costs)
            for heading, short in [_OF_SERVICE[field]]
        ),
    ]


def _of_services(costs: Sequence[IdleCost]) -> Iterator[tuple[str, str]]:
    """Each service, and what is known of it for any revision."""
    for name in dict.fromkeys(service.name for cost in costs for service in cost.services):
        for field in _OF_SERVICE:
            if any(_of_service(cost, name, field) is not None for cost in costs):
                yield name, field


def _of_service(cost: IdleCost, name: str, field: str) -> float | None:
    found: Iterator[float | None] = (
        getattr(one, field) for one in cost.services if one.name == name
    )
    return next(found, None)


def _cells(
    cost: IdleCost,
    price: Price | None,
    columns: _Columns,
    of_services: Sequence[tuple[str, str]],
) -> Iterator[Cell]:
    """The cells of a row, in the order of the columns."""
    spread = format_spread(cost.cores, lambda cores: f"{_percent(cores)} %")
    yield Word(text=f"{_percent(cost.cores.value)} {spread}".rstrip(), sort=cost.cores.value * 100)
    yield Word(text=format_number(cost.core_hours), sort=cost.core_hours)
    if price is not None:
        yield Word(text=format_money(cost.money(price), price), sort=cost.money(price))
    yield from _counted_cells(cost, columns)
    for name, field in of_services:
        value = _of_service(cost, name, field)
        if value is None:
            yield NOTHING
        else:
            text = _percent(value) if field == "cores" else format_number(value)
            yield Word(text=text, sort=value)


def _counted_cells(cost: IdleCost, columns: _Columns) -> Iterator[Cell]:
    for field, heading in _COUNTED.items():
        if heading not in columns:
            continue
        value = getattr(cost, field)
        if value is None:
            yield NOTHING
        elif isinstance(value, Estimate):
            yield Word(text=format_number(value.value), sort=value.value)
        elif field == "memory_bytes":
            yield Word(text=f"{value / 2**20:.1f} MiB", sort=value)
        else:
            yield Word(text=format_number(value), sort=value)


def _sentence(costs: Sequence[IdleCost], price: Price | None) -> str:
    first, *others = costs
    what = "workers" if first.topology == _ONE_WORKER else f"runs ({first.topology})"
    doing = "while they wait" if any(cost.has_items for cost in costs) else "doing nothing"
    cores = first.cores.value * _FLEET
    noun = "core" if format_number(cores) == "1" else "cores"
    more = "".join(f"; {cost.label}: {_fleet(cost, price)}" for cost in others)
    return (
        f"{first.scenario}, {first.label}: {_FLEET:,} such {what} keep {format_number(cores)} "
        f"{noun} busy {doing}{_for_money(first, price)}{more}."
    )


def _about_memory(costs: Sequence[IdleCost]) -> Iterator[str]:
    """Whose memory it is."""
    for is_all, whose in (
        (True, "of all processes (PSS)"),
        (False, "the peak of the largest process"),
    ):
        if any(cost.memory_bytes is not None and cost.is_all_memory is is_all for cost in costs):
            yield f"Memory is {whose}."


def _fleet(cost: IdleCost, price: Price | None) -> str:
    return f"{format_number(cost.cores.value * _FLEET)}{_for_money(cost, price)}"


def _for_money(cost: IdleCost, price: Price | None) -> str:
    if price is None:
        return ""
    return f", {format_money(cost.money(price) * _FLEET, price)} a month"


def _percent(cores: float) -> str:
    return format_number(cores * 100)

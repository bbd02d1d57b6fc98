"""Costs of waiting -> a table in plain units, a sentence a scenario, and plain data."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from waitbench.analysis.idle import HOURS_A_MONTH, IdleCost, idle_costs
from waitbench.analysis.statistics import Comparison
from waitbench.model.errors import UsageError
from waitbench.reporting.document import Cell, Heading, Table, Word
from waitbench.reporting.formats import NOTHING, format_number, format_spread

TITLE = "what waiting costs, in plain units"
_FLEET = 1000
"""Workers that a sentence is about: what one costs is too little to picture."""
_ONE_WORKER = "single"
"""The topology whose runs are one worker each."""


_PRICE = re.compile(
    r"(?P<before>[^\d\s.,/+-]{0,3})\s*(?P<amount>\d{1,9}(\.\d{1,9})?)\s*(?P<after>[^\d\s.,/+-]{0,3})"
    r"/core-hour"
)


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a core costs by the hour."""

    amount: float
    before: str = ""
    """The sign of a currency that stands before an amount, such as ``$``."""
    after: str = ""
    """The same behind it, such as ``€`` or ``EUR``."""

    @classmethod
    def parse(cls, text: str) -> "Price":
        """Reads ``0.04/core-hour`` or ``$0.04/core-hour``. Raises ``UsageError``."""
        match = _PRICE.fullmatch(text.strip())
        if match is None or not float(match["amount"]) > 0:
            raise UsageError(
                f"--price {text!r} is not AMOUNT/core-hour, such as 0.04/core-hour, or "
                "'$0.04/core-hour'."
            )
        return cls(amount=float(match["amount"]), before=match["before"], after=match["after"])

    def of(self, cost: IdleCost) -> float:
        """What a revision costs a month."""
        return cost.core_hours * self.amount

    def written(self, amount: float) -> str:
        """An amount in its currency."""
        digits = 0 if amount >= 100 else 2 if amount >= 0.01 else 4
        return f"{self.before}{amount:,.{digits}f}{f' {self.after}' if self.after else ''}"


def tables(comparisons: Iterable[Comparison], price: Price | None = None) -> list[Table]:
    """One table of all scenarios that wait, a row for each revision; none where nothing waits.

    What is one of many values of a scan is left out.
    """
    costs = idle_costs(one for one in comparisons if one.record.scan is None)
    return [_table(costs, price)] if costs else []


def _table(costs: Sequence[IdleCost], price: Price | None) -> Table:
    columns = _columns(costs, price)
    one_scenario = len({cost.scenario for cost in costs}) == 1
    return Table(
        title=f"{costs[0].scenario} · {TITLE}" if one_scenario else TITLE,
        header=(
            "revision",
            Heading("% of a core", short="% of\na core", is_left=False),
            *(Heading(one.heading, short=one.short, is_left=False) for one in columns),
        ),
        rows=tuple(
            (cost.label, _cores(cost), *(one.cell(cost) for one in columns)) for cost in costs
        ),
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
        "wakeups_a_second": cost.rates.get("wakeups"),
        "system_calls_a_second": cost.rates.get("syscalls"),
        "memory_bytes": cost.memory_bytes,
        "services": {
            name: {
                one.key: cost.rates[metric]
                for kind, one in _OF_SERVICE.items()
                if (metric := f"service-{kind}-{name}") in cost.rates
            }
            for name in cost.services
        }
        or None,
        "money_a_month": None if price is None else price.of(cost),
        "window_is_short": cost.is_window_too_short,
    }
    return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class _Column:
    """A heading, as it is and short, and what stands below it of each revision."""

    heading: str
    short: str | None = None
    value_of: Callable[[IdleCost], float | None]
    text: Callable[[float], str] = format_number

    def cell(self, cost: IdleCost) -> Cell:
        value = self.value_of(cost)
        return NOTHING if value is None else Word(text=self.text(value), sort=value)


def _columns(costs: Sequence[IdleCost], price: Price | None) -> list[_Column]:
    """What is known of any revision, behind what is known of all."""
    columns = [
        _rate("wakeups", heading="wake-ups/s", short="wake-\nups/s"),
        _rate("syscalls", heading="system calls/s", short="system\ncalls/s"),
        _Column(
            heading="memory",
            value_of=attrgetter("memory_bytes"),
            text=lambda size: f"{size / 2**20:.1f} MiB",
        ),
        *(
            _rate(
                f"service-{kind}-{name}",
                heading=one.heading.format(name),
                short=one.short.format(name),
                text=one.text,
            )
            for name in dict.fromkeys(name for cost in costs for name in cost.services)
            for kind, one in _OF_SERVICE.items()
        ),
    ]
    known = [one for one in columns if any(one.value_of(cost) is not None for cost in costs)]
    hours = _Column(
        heading="core-hours a month", short="core-h/\nmonth", value_of=attrgetter("core_hours")
    )
    if price is None:
        return [hours, *known]
    money = _Column(
        heading="money a month",
        short="money/\nmonth",
        value_of=price.of,
        text=price.written,
    )
    return [hours, money, *known]


def _rate(metric: str, **how: Any) -> _Column:
    return _Column(value_of=lambda cost: cost.rates.get(metric), **how)


def _cores(cost: IdleCost) -> Word:
    spread = format_spread(cost.cores, lambda cores: f"{_percent(cores)} %")
    return Word(text=f"{_percent(cost.cores.value)} {spread}".rstrip(), sort=cost.cores.value * 100)


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
    return f", {price.written(price.of(cost) * _FLEET)} a month"


def _percent(cores: float) -> str:
    return format_number(cores * 100)


class _OfService(NamedTuple):
    """What a service does a second: its key in plain data, its heading, and how it is written."""

    key: str
    heading: str
    short: str
    text: Callable[[float], str]


_OF_SERVICE = {
    "requests": _OfService(
        "requests_a_second", "requests/s to {}", "requests/s\nto {}", format_number
    ),
    "bytes": _OfService("bytes_a_second", "bytes/s to and from {}", "bytes/s\n{}", format_number),
    "cpu": _OfService("cores", "% of a core of {}", "% of a\ncore, {}", _percent),
}

"""Costs of waiting -> a table in plain units, and plain data."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from waitbench.analysis.idle import HOURS_A_MONTH, IdleCost, idle_costs
from waitbench.analysis.statistics import Comparison
from waitbench.model.errors import UsageError
from waitbench.reporting.document import Cell, Heading, Table, Word
from waitbench.reporting.formats import NOTHING, format_number, format_spread

TITLE = "what waiting costs, in plain units"


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
            *(heading for heading, _ in columns),
        ),
        rows=tuple(
            (cost.label, _cores(cost), *(cells[place] for _, cells in columns))
            for place, cost in enumerate(costs)
        ),
        notes=(
            f"All workers of a run together; a month has {HOURS_A_MONTH:g} hours.",
            *_about_memory(costs),
        ),
        groups=() if one_scenario else tuple(cost.scenario for cost in costs),
        group_heading="scenario",
    )


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


def _columns(costs: Sequence[IdleCost], price: Price | None) -> list[tuple[Heading, list[Cell]]]:
    """What is known of any revision, a cell of each below its heading."""

    def rates(metric: str) -> list[float | None]:
        return [one.rates.get(metric) for one in costs]

    columns = [
        _column("core-hours a month", "core-h/\nmonth", [one.core_hours for one in costs]),
        _column("wake-ups/s", "wake-\nups/s", rates("wakeups")),
        _column("system calls/s", "system\ncalls/s", rates("syscalls")),
        _column("memory", None, [one.memory_bytes for one in costs], _mebibytes),
    ]
    if price is not None:
        money = map(price.of, costs)
        columns.insert(1, _column("money a month", "money/\nmonth", money, price.written))
    for name in dict.fromkeys(name for cost in costs for name in cost.services):
        for kind, of in _OF_SERVICE.items():
            heading, short = of.heading.format(name), of.short.format(name)
            columns.append(_column(heading, short, rates(f"service-{kind}-{name}"), of.text))
    return [(heading, cells) for heading, cells in columns if set(cells) != {NOTHING}]


def _column(
    heading: str,
    short: str | None,
    values: Iterable[float | None],
    text: Callable[[float], str] = format_number,
) -> tuple[Heading, list[Cell]]:
    cells: list[Cell] = [NOTHING if it is None else Word(text=text(it), sort=it) for it in values]
    return Heading(heading, short=short, is_left=False), cells


def _mebibytes(size: float) -> str:
    return f"{size / 2**20:.1f} MiB"


def _cores(cost: IdleCost) -> Word:
    spread = format_spread(cost.cores, lambda cores: f"{_percent(cores)} %")
    return Word(text=f"{_percent(cost.cores.value)} {spread}".rstrip(), sort=cost.cores.value * 100)


def _about_memory(costs: Sequence[IdleCost]) -> Iterator[str]:
    """Whose memory it is."""
    for is_all, whose in (
        (True, "of all processes (PSS)"),
        (False, "the peak of the largest process"),
    ):
        if any(cost.memory_bytes is not None and cost.is_all_memory is is_all for cost in costs):
            yield f"Memory is {whose}."


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

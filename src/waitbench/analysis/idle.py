"""What waiting costs, in the units that people pay in. Pure, and derived from what runs say anyway.

Two metrics say all of it: the CPU that the workers used in the steady phase, and that per second of
it. Their quotient is how long the phase was, by which counts become counts a second.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.model.errors import UsageError

HOURS_A_MONTH = 365.25 * 24 / 12
"""730.5."""

_PRICE = re.compile(
    r"(?P<before>[^\d\s.,/+-]{0,3})\s*(?P<amount>\d{1,9}(\.\d{1,9})?)\s*(?P<after>[^\d\s.,/+-]{0,3})"
    r"/core-hour"
)
_OF_SERVICE = {"cores": "service-cpu", "requests": "service-requests", "bytes": "service-bytes"}
"""The metric that each rate of a service is of, by the name of the field; its name follows."""


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


@dataclass(frozen=True, kw_only=True)
class ServiceCost:
    """What a worker that waits makes one service do, a second; ``None`` is what nobody counted."""

    name: str
    cores: float | None
    """How many it keeps busy."""
    requests: float | None
    bytes: float | None
    """To and from it."""


@dataclass(frozen=True, kw_only=True)
class IdleCost:
    """What one revision costs while it waits in one scenario: all processes of a run together."""

    scenario: str
    topology: str
    label: str
    cores: Estimate
    """How many it keeps busy."""
    window_s: float
    """How long the steady phase was."""
    memory_bytes: float | None
    """Of all processes (PSS) where that is known, else the peak of the largest one."""
    is_all_memory: bool
    wakeups: float | None
    """A second, as all that follows; ``None`` where it was not counted."""
    system_calls: float | None
    services: tuple[ServiceCost, ...]
    """In the order of the worker's file."""
    has_items: bool
    """Whether anything came in meanwhile."""
    is_window_too_short: bool | None
    """Whether the wake-ups of the window's halves differ, where they were counted."""

    @property
    def core_hours(self) -> float:
        """A month."""
        return self.cores.value * HOURS_A_MONTH

    def money(self, price: Price) -> float:
        """A month."""
        return self.core_hours * price.amount


def idle_costs(comparisons: Iterable[Comparison]) -> tuple[IdleCost, ...]:
    """What every revision costs in each scenario that mostly waits, as far as that is known."""
    return tuple(
        found
        for comparison in comparisons
        if comparison.mostly_waits
        for row in comparison.rows
        if (found := idle_cost(row, comparison)) is not None
    )


def idle_cost(row: Row, comparison: Comparison) -> IdleCost | None:
    """What a revision costs; ``None`` where nobody knows when its workers waited."""
    cores, steady = row.estimates.get("share"), row.estimates.get("steady")
    if cores is None or steady is None:
        return None
    window_s = steady.value / cores.value if cores.value > 0 else 0.0
    memory, rss = row.estimates.get("memory"), row.estimates.get("rss")
    known = memory or rss
    items = row.estimates.get("items-in")
    return IdleCost(
        scenario=comparison.scenario,
        topology=comparison.topology,
        label=row.label,
        cores=cores,
        window_s=window_s,
        memory_bytes=known.value if known else None,
        is_all_memory=memory is not None,
        has_items=items is not None and items.value > 0,
        is_window_too_short=row.is_window_too_short,
        services=tuple(_services(row, window_s)),
        wakeups=_rate(row, "wakeups", window_s),
        system_calls=_rate(row, "syscalls", window_s),
    )


def _services(row: Row, window_s: float) -> Iterator[ServiceCost]:
    names = dict.fromkeys(
        name.removeprefix(f"{metric}-")
        for metric in _OF_SERVICE.values()
        for name in row.estimates
        if name.startswith(f"{metric}-")
    )
    for name in names:
        rates = {
            field: _rate(row, f"{metric}-{name}", window_s) for field, metric in _OF_SERVICE.items()
        }
        yield ServiceCost(name=name, **rates)


def _rate(row: Row, metric: str, window_s: float) -> float | None:
    """A count a second; ``None`` where there is no count, or no telling how long it took."""
    counted = row.estimates.get(metric)
    if counted is None or (counted.value and not window_s):
        return None
    return counted.value / window_s if window_s else 0.0

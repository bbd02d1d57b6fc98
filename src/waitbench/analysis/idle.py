"""What waiting costs, in the units that people pay in. Pure, and derived from what runs say anyway.

Two metrics say all of it: the CPU that the workers used in the steady phase, and that per second of
it. Their quotient is how long the phase was, by which counts become counts a second.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from waitbench.analysis.statistics import Comparison, Estimate, Row

HOURS_A_MONTH = 365.25 * 24 / 12
"""730.5."""
_COUNTED = ("wakeups", "syscalls")
_OF_SERVICES = ("service-cpu-", "service-requests-", "service-bytes-")
"""What the metrics of each service begin with; its name follows."""


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
    rates: Mapping[str, float]
    """A second, by the metric's name: wake-ups, system calls, and what each service does.

    Without those that were not counted.
    """
    is_window_too_short: bool | None
    """Whether the wake-ups of the window's halves differ, where they were counted."""

    @property
    def core_hours(self) -> float:
        """A month."""
        return self.cores.value * HOURS_A_MONTH

    @property
    def services(self) -> tuple[str, ...]:
        """The names of those that rates are of, in the order of the worker's file."""
        of_services = (name for name in self.rates if name.startswith(_OF_SERVICES))
        return tuple(dict.fromkeys(name.split("-", 2)[2] for name in of_services))


def idle_costs(comparisons: Iterable[Comparison]) -> tuple[IdleCost, ...]:
    """What every revision costs in each scenario that mostly waits, as far as that is known."""
    return tuple(
        found
        for comparison in comparisons
        if comparison.record.mostly_waits
        for row in comparison.rows
        if (found := idle_cost(row, comparison)) is not None
    )


def idle_cost(row: Row, comparison: Comparison) -> IdleCost | None:
    """What a revision costs; ``None`` where nobody knows when its workers waited."""
    known = {name: estimate.value for name, estimate in row.estimates.items()}
    if not {"share", "steady"} <= known.keys():
        return None
    window_s = known["steady"] / known["share"] if known["share"] > 0 else 0.0
    return IdleCost(
        scenario=comparison.scenario,
        topology=comparison.record.topology,
        label=row.label,
        cores=row.estimates["share"],
        window_s=window_s,
        memory_bytes=known.get("memory", known.get("rss")),
        is_all_memory="memory" in known,
        rates={
            name: count / window_s if window_s else 0.0
            for name, count in known.items()
            if name in _COUNTED or name.startswith(_OF_SERVICES)
            # Without any CPU nobody knows how long it took to count something.
            if window_s or not count
        },
        is_window_too_short=row.is_window_too_short,
    )

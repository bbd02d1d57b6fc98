"""What a candidate must not do: the gate's defaults, or what users write, as ``system:10%``."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from enum import Enum

from waitbench.analysis.limits import Limit
from waitbench.model.metrics import (
    BY_NAME,
    FOREIGN_ALLOWED_S,
    GROWTH,
    MEMORY,
    METRICS,
    SERVICES,
    STOP,
    Metric,
)
from waitbench.model.record import ScenarioFacts
from waitbench.model.scenario import Scenario

FLOORS = {"second": ("ms", Decimal("0.001")), "byte": ("MiB", Decimal(2**20))}
"""The unit in which a floor is written for a metric of this unit; others have a bare number."""
_DIGITS = Context(prec=15)
"""So many every number has that is written with as many, once it was a float."""


class Scope(str, Enum):
    """The scenarios that a criterion is about."""

    EVERY = "every"
    WAITING = "waiting"
    """Those whose workers mostly wait."""
    WORKING = "working"
    """The others."""
    BUSY = "busy"
    """Working scenarios that never wait, so that their real time is that of the work."""
    LARGE_CHANGES = "large-changes-only"
    """What costs a multiple if it breaks: see ``Scenario.large_changes_only``."""

    def holds(self, one: Scenario | ScenarioFacts) -> bool:
        """Whether a criterion with this scope is about a scenario."""
        if one.large_changes_only:
            return self in (Scope.EVERY, Scope.LARGE_CHANGES)
        if one.waits and not one.works:
            return self in (Scope.EVERY, Scope.WAITING)
        is_busy = one.works and not one.waits
        return self in (Scope.EVERY, Scope.WORKING) or (self is Scope.BUSY and is_busy)


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """What a candidate must not do."""

    metric: Metric
    margin: float
    """Allowed rise, as a share: 0.1 for 10 %."""
    floor: float = 0.0
    """What it may rise by besides, in the metric's unit."""
    alone: bool = False
    """Judge what explains a cost without regard to that cost."""
    each: bool = False
    """Judge every scenario by itself, rather than all of a group together."""
    scope: Scope = Scope.EVERY
    by_launcher: bool | None = None
    """Ask only where the engine's own launcher starts the processes, or only where it does not."""
    limit: Limit | None = None
    """A budget instead of a rise: it needs no baseline."""

    @property
    def cost(self) -> Metric | None:
        """What the metric explains, if a certain fall of that excuses a rise."""
        return None if self.alone else BY_NAME.get(self.metric.explains or "")

    @property
    def only_alarms(self) -> bool:
        """Whether it may fail, but keeps nothing from a pass: a default of each scenario.

        Nothing is certain of a single scenario after the rounds that settle all together. These
        pass only if none of them lies apart.
        """
        return self.each and self in DEFAULTS

    @property
    def can_fail_by_dear_runs(self) -> bool:
        """Only costs and median lateness can: elsewhere dear runs keep it from a pass."""
        if self.limit or self.only_alarms:
            return False
        return self.metric.name == "latency-p50" or not (self.metric.explains or self.floor)

    def __str__(self) -> str:
        """As users write it; scope and ``by_launcher`` are not in it."""
        if self.limit is not None:
            return f"limit {self.limit.text}"
        unit, size = FLOORS.get(self.metric.unit, ("", Decimal(1)))
        floor = f",{_exactly(self.floor, size)}{unit}" if self.floor else ""
        flags = ",alone" * self.alone + ",each" * self.each
        return f"{self.metric.name}:{_exactly(self.margin, Decimal('0.01'))}%{floor}{flags}"


def _exactly(value: float, unit: Decimal) -> str:
    """A value in a unit, with all digits that can be given and no exponent, so that it is read."""
    return f"{_DIGITS.divide(Decimal(repr(value)), unit).normalize():f}"


_MIB = 2.0**20
_KNOWN = {metric.name: metric for metric in (*METRICS, MEMORY, GROWTH, STOP, *SERVICES)}


def _rises(
    scope: Scope,
    name: str,
    margin: float,
    floor: float = 0.0,
    *,
    each: bool = False,
    by_launcher: bool | None = None,
) -> Criterion:
    metric = _KNOWN[name]
    return Criterion(
        metric=metric, margin=margin, floor=floor, each=each, scope=scope, by_launcher=by_launcher
    )


DEFAULTS = (
    _rises(Scope.WAITING, "idle", 0.10),
    _rises(Scope.WAITING, "idle", 0.25, each=True),
    _rises(Scope.WAITING, "cpu", 0.10),
    # By ticks of 4 ms, the system time of half a second of waiting is known to some 20 ms.
    _rises(Scope.WAITING, "idle-system", 0.25, 0.025),
    # The launcher polls, which is system time, and is not among the workers.
    _rises(Scope.WAITING, "system", 0.25, 0.025, by_launcher=True),
    _rises(Scope.WAITING, "wakeups", 0.05),
    _rises(Scope.WAITING, "syscalls", 0.05),
    _rises(Scope.WAITING, "latency-p50", 0.25, 0.005),
    _rises(Scope.WAITING, "latency", 0.25, 0.05),
    _rises(Scope.WAITING, "rss", 0.10, 8 * _MIB),
    _rises(Scope.WAITING, "memory", 0.10, 8 * _MIB),
    # Heaps grow until they are collected, a little more or less.
    _rises(Scope.WAITING, "memory-growth", 0.25, _MIB),
    # A peer that does not listen yet costs a second of the launcher's runs at random.
    _rises(Scope.WAITING, "startup", 0.25, 0.1, by_launcher=False),
    _rises(Scope.WAITING, "shutdown", 0.25, 0.1),
    _rises(Scope.WAITING, "stop", 0.25, 0.1),
    _rises(Scope.WAITING, "service-cpu", 0.25, 0.01),
    _rises(Scope.WAITING, "service-requests", 0.10, 5.0),
    _rises(Scope.WAITING, "foreign-cpu", 0.25, FOREIGN_ALLOWED_S),
    _rises(Scope.LARGE_CHANGES, "cpu", 1.0),
    _rises(Scope.LARGE_CHANGES, "cpu", 1.0, each=True),
    _rises(Scope.LARGE_CHANGES, "system", 1.0),
    _rises(Scope.LARGE_CHANGES, "system", 1.0, each=True),
    _rises(Scope.WORKING, "cpu", 0.10),
    _rises(Scope.WORKING, "cpu", 0.25, each=True),
    _rises(Scope.WORKING, "system", 0.25, 0.025, by_launcher=True),
    _rises(Scope.BUSY, "real", 0.10, 0.05, by_launcher=False),
)
"""What the gate asks by default.

What waiting costs comes first; then what it consists of, what a change may trade for CPU, and what
a candidate has others do for it, such as a broker or the kernel.
"""

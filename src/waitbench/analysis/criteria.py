"""What a candidate must not do: the gate's defaults, or what users write, as ``system:10%``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from waitbench.analysis.limits import Limit
from waitbench.model.metrics import (
    BY_NAME,
    FOREIGN_ALLOWED_S,
    MEMORY,
    METRICS,
    SERVICES,
    STOP,
    Metric,
)
from waitbench.model.record import ScenarioFacts
from waitbench.model.scenario import Scenario

FLOORS = {"second": ("ms", 1e-3), "byte": ("MiB", 2.0**20)}
"""The unit in which a floor is written for a metric of this unit; others have a bare number."""


class Scope(str, Enum):
    """The scenarios that a criterion is about."""

    EVERY = "every"
    WAITING = "waiting"
    """Those whose workers mostly wait."""
    WORKING = "working"
    """The others."""
    LARGE_CHANGES = "large-changes-only"
    """What costs a multiple if it breaks: see ``Scenario.large_changes_only``."""

    def holds(self, one: Scenario | ScenarioFacts) -> bool:
        """Whether a criterion with this scope is about a scenario."""
        own = Scope.WAITING if one.waits and not one.works else Scope.WORKING
        return self in (Scope.EVERY, Scope.LARGE_CHANGES if one.large_changes_only else own)


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
        """Only costs can: dear runs of what else is asked keep it from a pass."""
        return not (self.metric.explains or self.floor or self.limit or self.only_alarms)

    def __str__(self) -> str:
        """As users write it; the scope is not in it."""
        if self.limit is not None:
            return f"limit {self.limit.text}"
        unit, size = FLOORS.get(self.metric.unit, ("", 1.0))
        floor = f",{self.floor / size:.12g}{unit}" if self.floor else ""
        flags = ",alone" * self.alone + ",each" * self.each
        return f"{self.metric.name}:{self.margin * 100:.12g}%{floor}{flags}"


_MIB = 2.0**20
_KNOWN = {metric.name: metric for metric in (*METRICS, MEMORY, STOP, *SERVICES)}
DEFAULTS = tuple(
    Criterion(metric=_KNOWN[name], margin=margin, floor=floor, each=each, scope=scope)
    for scope, name, margin, floor, each in (
        (Scope.WAITING, "idle", 0.10, 0.0, False),
        (Scope.WAITING, "idle", 0.25, 0.0, True),
        (Scope.WAITING, "cpu", 0.10, 0.0, False),
        # By ticks of 4 ms, that of half a second of waiting is known to some 20 ms.
        (Scope.WAITING, "idle-system", 0.25, 0.025, False),
        (Scope.WAITING, "wakeups", 0.05, 0.0, False),
        (Scope.WAITING, "syscalls", 0.05, 0.0, False),
        (Scope.WAITING, "latency-p50", 0.25, 0.005, False),
        (Scope.WAITING, "latency", 0.25, 0.05, False),
        (Scope.WAITING, "rss", 0.10, 8 * _MIB, False),
        (Scope.WAITING, "memory", 0.10, 8 * _MIB, False),
        (Scope.WAITING, "startup", 0.25, 0.1, False),
        (Scope.WAITING, "shutdown", 0.25, 0.1, False),
        (Scope.WAITING, "stop", 0.25, 0.1, False),
        (Scope.WAITING, "service-cpu", 0.25, 0.01, False),
        (Scope.WAITING, "service-requests", 0.10, 5.0, False),
        (Scope.WAITING, "foreign-cpu", 0.25, FOREIGN_ALLOWED_S, False),
        (Scope.LARGE_CHANGES, "cpu", 1.0, 0.0, False),
        (Scope.LARGE_CHANGES, "cpu", 1.0, 0.0, True),
        (Scope.WORKING, "cpu", 0.10, 0.0, False),
        (Scope.WORKING, "cpu", 0.25, 0.0, True),
    )
)
"""What the gate asks unless told otherwise: of dataflows thirteen, and in each scenario three that
only alarm.

What waiting costs comes first; then what it consists of, what a change may trade for CPU, and what
a candidate has others do for it, such as a broker or the kernel.
"""

"""Criteria of the gate: the defaults, and those that users write, such as ``system:10%``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from enum import Enum
from fnmatch import fnmatchcase
from typing import Annotated, Any

from msgspec import Meta, Struct

from waitbench.model.metrics import BY_NAME, OTHER_ALLOWED_S, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.scenario import Scenario

ALLOWANCE_UNITS = {"second": ("ms", Decimal("0.001")), "byte": ("MiB", Decimal(2**20))}
"""The unit of allowances, and its size, by the metric's unit; those of counts have none."""
_Text = Annotated[str, Meta(pattern=r"\S")]
_DIGITS = Context(prec=15)
"""Rounds to the digits that a float can represent."""


class Scope(str, Enum):
    """The scenarios to which a criterion applies."""

    EVERY = "every"
    WAITING = "waiting"
    WORKING = "working"
    BUSY = "busy"
    """Working scenarios that never wait, so that their real time is that of the work."""
    LARGE_CHANGES = "large-changes-only"
    """See ``Scenario.large_changes_only``."""

    def covers(self, scenario: Scenario) -> bool:
        if scenario.large_changes_only:
            return self in (Scope.EVERY, Scope.LARGE_CHANGES)
        if scenario.waits and not scenario.works:
            return self in (Scope.EVERY, Scope.WAITING)
        is_busy = scenario.works and not scenario.waits
        return self in (Scope.EVERY, Scope.WORKING) or (self is Scope.BUSY and is_busy)


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The largest value that a metric may have in a run."""

    text: str
    most: float
    """In the metric's unit; with ``by_second``, in that unit per second."""
    unit: str
    """The unit that the user wrote, in which figures are shown."""
    size: float
    """The factor from ``unit`` to the unit of ``most``: 0.01 for per cent of a core."""
    by_second: bool = False

    def pairs(
        self, record: ScenarioResults, label: str, metric: Metric
    ) -> dict[int, tuple[float, float]]:
        """The limit and the cost of a revision in each round, by its number."""
        pairs = {}
        for run in record.of(label):
            value = run.cost(metric)
            # 0 stays 0 per second, even if the length of the window is unknown.
            if value and self.by_second:
                value = value / run.window_s if run.window_s else None
            if value is not None:
                pairs[run.round] = (self.most, value)
        return pairs


class Criterion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The largest rise of a metric that the gate allows, or a limit."""

    metric: Metric
    margin: float
    """Allowed rise, as a share: 0.1 for 10 %."""
    allowance: float = 0.0
    alone: bool = False
    """Whether a rise fails even if the cost of which the metric is a component has fallen."""
    each: bool = False
    """Whether it judges every scenario by itself, rather than all together."""
    scope: Scope = Scope.EVERY
    by_launcher: bool | None = None
    """``True``: only for runs by the engine's own launcher; ``False``: only for all others."""
    limit: Limit | None = None

    @property
    def cost(self) -> Metric | None:
        """The cost whose certain fall explains a rise of the metric, which then does not fail."""
        return None if self.alone else BY_NAME.get(self.metric.explains or "")

    @property
    def is_limit_of_cpu(self) -> bool:
        return self.limit is not None and self.metric.name == "share"

    def is_exceeded(self, baseline: float, candidate: float) -> bool:
        """Whether a candidate's cost exceeds what is allowed; ``baseline`` may be the limit."""
        least = 0.0 if self.limit else self.metric.resolution
        return max(least, candidate) > max(least, baseline) * (1 + self.margin) + self.allowance

    @property
    def can_only_fail(self) -> bool:
        """Whether a rise fails the gate, but an inconclusive answer does not prevent its pass.

        True of default criteria about each scenario: rounds that suffice for all scenarios together
        are too few for one. A high cost of one also keeps the question about all of them open.
        """
        return self.each and self in DEFAULTS

    @property
    def can_fail_by_outliers(self) -> bool:
        """Whether outliers alone can fail it; for other criteria, they only prevent a pass."""
        if self.limit or self.can_only_fail:
            return False
        return self.metric.name == "latency-p50" or not (self.metric.explains or self.allowance)

    def __str__(self) -> str:
        """The text that users write, which has neither the scope nor ``by_launcher``."""
        if self.limit is not None:
            return f"limit {self.limit.text}"
        unit, size = ALLOWANCE_UNITS.get(self.metric.unit, ("", Decimal(1)))
        allowance = f",{_format_exactly(self.allowance, size)}{unit}" if self.allowance else ""
        flags = ",alone" * self.alone + ",each" * self.each
        percent = _format_exactly(self.margin, Decimal("0.01"))
        return f"{self.metric.name}:{percent}%{allowance}{flags}"


class Acceptance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A regression that a project accepts for a time: an entry of ``accepted.toml``."""

    criterion: _Text
    """A criterion as on the command line, or the name of a metric for all criteria about it."""
    scenario: _Text
    """A glob, which all scenarios of a question must match."""
    reason: _Text
    until: date
    """The last day."""

    def accepts(self, criterion: str, metric: str, scenarios: Sequence[str]) -> bool:
        return self.criterion in (criterion, metric) and all(
            fnmatchcase(name, self.scenario) for name in scenarios
        )


def _format_exactly(value: float, unit: Decimal) -> str:
    """Writes a value in a unit, without an exponent: ``--fail-on`` reads exactly this value."""
    return f"{_DIGITS.divide(Decimal(repr(value)), unit).normalize():f}"


_MIB = 2.0**20


def _rise(scope: Scope, name: str, margin: float, allowance: float = 0.0, **more: Any) -> Criterion:
    return Criterion(metric=BY_NAME[name], margin=margin, allowance=allowance, scope=scope, **more)


DEFAULTS = (
    _rise(Scope.WAITING, "idle", 0.10),
    _rise(Scope.WAITING, "idle", 0.25, each=True),
    _rise(Scope.WAITING, "cpu", 0.10),
    # With ticks of 4 ms, system time over half a second of waiting is accurate to some 20 ms.
    _rise(Scope.WAITING, "idle-system", 0.25, 0.025),
    # The launcher's polling is system time outside the workers.
    _rise(Scope.WAITING, "system", 0.25, 0.025, by_launcher=True),
    _rise(Scope.WAITING, "wakeups", 0.05),
    _rise(Scope.WAITING, "syscalls", 0.05),
    _rise(Scope.WAITING, "latency-p50", 0.25, 0.005),
    _rise(Scope.WAITING, "latency", 0.25, 0.05),
    _rise(Scope.WAITING, "rss", 0.10, 8 * _MIB),
    _rise(Scope.WAITING, "memory", 0.10, 8 * _MIB),
    # The allowance is for heaps, which grow until garbage is collected.
    _rise(Scope.WAITING, "memory-growth", 0.25, _MIB),
    # With the launcher, some runs take a second longer, as a peer does not listen yet.
    _rise(Scope.WAITING, "startup", 0.25, 0.1, by_launcher=False),
    _rise(Scope.WAITING, "shutdown", 0.25, 0.1),
    _rise(Scope.WAITING, "stop", 0.25, 0.1),
    _rise(Scope.WAITING, "service-cpu", 0.25, 0.01),
    _rise(Scope.WAITING, "service-requests", 0.10, 5.0),
    _rise(Scope.WAITING, "foreign-cpu", 0.25, OTHER_ALLOWED_S),
    _rise(Scope.LARGE_CHANGES, "cpu", 1.0),
    _rise(Scope.LARGE_CHANGES, "cpu", 1.0, each=True),
    _rise(Scope.LARGE_CHANGES, "system", 1.0),
    _rise(Scope.LARGE_CHANGES, "system", 1.0, each=True),
    _rise(Scope.WORKING, "cpu", 0.10),
    _rise(Scope.WORKING, "cpu", 0.25, each=True),
    _rise(Scope.WORKING, "system", 0.25, 0.025, by_launcher=True),
    _rise(Scope.BUSY, "real", 0.10, 0.05, by_launcher=False),
)
"""The gate's default questions, in order of importance: the first has most of the error."""

"""What a candidate must not do, and the questions that this makes of a comparison.

A criterion is one of the gate's defaults, or what users write, as ``system:10%``; a question asks
it of one candidate, over all scenarios of a group together or, with ``each``, of every one. All
pairs of a group are judged as one sample: rule.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from waitbench.analysis.rounds import paired_by_round
from waitbench.analysis.rule import Pairs
from waitbench.model.metrics import BY_NAME, MEMORY, METRICS, STOP, Metric
from waitbench.model.record import Record
from waitbench.model.run import NOT_SUPPORTED

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

    def holds(self, record: Record) -> bool:
        own = Scope.WAITING if record.mostly_waits else Scope.WORKING
        return self in (Scope.EVERY, Scope.LARGE_CHANGES if record.large_changes_only else own)


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
        return self.metric.explains is None and not self.floor and not self.only_alarms

    def __str__(self) -> str:
        """As users write it; the scope is not in it."""
        unit, size = FLOORS.get(self.metric.unit, ("", 1.0))
        floor = f",{self.floor / size:.12g}{unit}" if self.floor else ""
        flags = ",alone" * self.alone + ",each" * self.each
        return f"{self.metric.name}:{self.margin * 100:.12g}%{floor}{flags}"


_MIB = 2.0**20
_KNOWN = {metric.name: metric for metric in (*METRICS, MEMORY, STOP)}
DEFAULTS = tuple(
    Criterion(metric=_KNOWN[name], margin=margin, floor=floor, each=each, scope=scope)
    for scope, name, margin, floor, each in (
        (Scope.WAITING, "steady", 0.10, 0.0, False),
        (Scope.WAITING, "steady", 0.25, 0.0, True),
        (Scope.WAITING, "cpu", 0.10, 0.0, False),
        # By ticks of 4 ms, that of half a second of waiting is known to some 20 ms.
        (Scope.WAITING, "steady-system", 0.25, 0.025, False),
        (Scope.WAITING, "wakeups", 0.05, 0.0, False),
        (Scope.WAITING, "syscalls", 0.05, 0.0, False),
        (Scope.WAITING, "latency-p50", 0.25, 0.005, False),
        (Scope.WAITING, "latency", 0.25, 0.05, False),
        (Scope.WAITING, "rss", 0.10, 8 * _MIB, False),
        (Scope.WAITING, "memory", 0.10, 8 * _MIB, False),
        (Scope.WAITING, "startup", 0.25, 0.1, False),
        (Scope.WAITING, "shutdown", 0.25, 0.1, False),
        (Scope.WAITING, "stop", 0.25, 0.1, False),
        (Scope.WAITING, "foreign-cpu", 0.25, 0.25, False),
        (Scope.LARGE_CHANGES, "cpu", 1.0, 0.0, False),
        (Scope.LARGE_CHANGES, "cpu", 1.0, 0.0, True),
        (Scope.WORKING, "cpu", 0.10, 0.0, False),
        (Scope.WORKING, "cpu", 0.25, 0.0, True),
    )
)
"""What the gate asks unless told otherwise: of dataflows thirteen, and three
that only alarm, in each scenario.

What waiting costs is asked first, in the window and in all; then what it consists of, and what a
change may trade for CPU: lateness, memory, start-up, shutdown; and what a candidate has others do
for it, such as a broker or the kernel.
"""
_OF_ONE = 0.15
"""The least margin of CPU where a group is a single scenario, as that of a worker file: less cannot
be told apart in minutes."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One criterion, asked of one candidate in one scenario, or in several together."""

    criterion: Criterion
    label: str
    records: tuple[Record, ...]
    """Those of the scenarios."""
    is_partial: bool = False
    """Whether it is about more scenarios, which are measured elsewhere, so that it only guides."""

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(record.scenario for record in self.records)

    @property
    def place(self) -> str:
        """Where it is asked, for people."""
        first, *others = self.scenarios
        scope = self.criterion.scope
        group = "" if scope is Scope.EVERY else f"{scope.value} "
        return f"{len(self.records)} {group}scenarios together" if others else first

    def pairs(self, metric: Metric) -> tuple[list[int], Pairs]:
        """The rounds that all scenarios have, and their costs.

        In the order in which they were measured: a round that is made again when a comparison is
        resumed comes last, so that what was looked at stays as it was. What is next to nothing
        counts as ``Metric.floor``.
        """
        found = [paired_by_round(one, self.label, metric) for one in self.records]
        begun: dict[int, str] = {}
        for run in (run for record in self.records for run in record.measurements):
            begun[run.round] = max(begun.get(run.round, ""), run.started_at)
        shared = set(found[0]).intersection(*found[1:])
        numbers = sorted(shared, key=lambda number: (begun[number], number))
        least = metric.floor
        return numbers, tuple(
            tuple(
                (max(theirs, least), max(ours, least)) for theirs, ours in (of[n] for of in found)
            )
            for n in numbers
        )


def ask(records: Iterable[Record], criteria: Sequence[Criterion]) -> tuple[Question, ...]:
    """Every question of a comparison, those about each scenario last.

    Nothing is asked of a scenario whose runs cannot have the metric, or that a revision cannot run.
    """
    known = tuple(records)
    candidates = dict.fromkeys(label for one in known for label in one.context.labels[1:])
    asked = [
        question
        for label in candidates
        for criterion in criteria
        for question in _questions(criterion, label, known)
    ]
    return tuple(sorted(asked, key=lambda one: one.criterion.each))


def _questions(criterion: Criterion, label: str, known: Sequence[Record]) -> list[Question]:
    about = [one for one in known if label in one.context.labels[1:]]
    about = [one for one in about if _is_about(criterion, one, label)]
    if criterion in DEFAULTS and len(about) == 1:
        if criterion.each:
            return []  # of a single scenario it is asked already
        if criterion.can_fail_by_dear_runs:
            criterion = replace(criterion, margin=max(criterion.margin, _OF_ONE))
    having = [one for one in about if not _lacks(one, criterion.metric)] or about
    groups = [[one] for one in about] if criterion.each else [having]
    return [Question(criterion=criterion, label=label, records=(*of,)) for of in groups if of]


def _is_about(criterion: Criterion, record: Record, label: str) -> bool:
    metric, keys = criterion.metric, {one.key for one in record.metrics}
    both = (record.context.labels[0], label)
    if any(one.label in both and one.reason == NOT_SUPPORTED for one in record.outcomes):
        return False
    if criterion in DEFAULTS:
        # What is told to end has had one item, the poke: its lateness at p99 is its median.
        if metric.name == "latency" and STOP.key in keys:
            return False
        # Some systems do not say what other programs use.
        if metric.name == "foreign-cpu" and _lacks(record, metric):
            return False
    return criterion.scope.holds(record) and metric.key in keys


def _lacks(record: Record, metric: Metric) -> bool:
    """Whether no run has the metric, of those that were made."""
    runs = record.measurements
    return bool(runs) and not any(metric.key in run.metrics for run in runs)

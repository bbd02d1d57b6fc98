"""What a candidate must not do, and the questions that this makes of a comparison.

A criterion is one of the gate's defaults, or what users write, as ``system:10%``; a question asks
it of one candidate, over all scenarios of a group together or, with ``each``, of every one. All
pairs of a group are judged as one sample: rule.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from waitbench.analysis.rounds import paired_by_round
from waitbench.model.errors import UsageError
from waitbench.model.metrics import MEMORY, METRICS, STOP, Metric
from waitbench.model.record import Record
from waitbench.model.run import NOT_SUPPORTED, Measurement

if TYPE_CHECKING:
    from waitbench.analysis.rule import Floats

_CRITERION = re.compile(
    r"(?P<metric>[a-z0-9-]+):(?P<percent>\d{1,4}(\.\d+)?)%"
    r"(,(?P<floor>\d+(\.\d+)?)(?P<unit>[A-Za-z]*))?(?P<alone>,alone)?(?P<each>,each)?"
)
_FLOORS = {"second": ("ms", 1e-3), "byte": ("MiB", 2.0**20)}
"""The unit in which a floor is written for a metric of this unit; others have a bare number."""
_DIGITS = ".12g"
"""Enough to read back what was written."""


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
        if self is Scope.EVERY:
            return True
        if record.large_changes_only:
            return self is Scope.LARGE_CHANGES
        return self is (Scope.WAITING if record.mostly_waits else Scope.WORKING)


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
    def explains(self) -> str | None:
        """The name of the cost whose certain fall excuses a rise; ``None`` if nothing does."""
        return None if self.alone else self.metric.explains

    def __str__(self) -> str:
        """The text that ``parse`` makes this of; the scope is not in it."""
        unit, size = _FLOORS.get(self.metric.unit, ("", 1.0))
        floor = f",{self.floor / size:{_DIGITS}}{unit}" if self.floor else ""
        flags = ",alone" * self.alone + ",each" * self.each
        return f"{self.metric.name}:{self.margin * 100:{_DIGITS}}%{floor}{flags}"


def parse(texts: Sequence[str], metrics: Sequence[Metric]) -> tuple[Criterion, ...]:
    """Reads ``METRIC:PERCENT%[,FLOOR][,alone][,each]``. The metrics are those given.

    Raises ``UsageError`` that says what would be right.
    """
    return tuple(_criterion(text.strip(), metrics) for text in texts)


def _criterion(text: str, metrics: Sequence[Metric]) -> Criterion:
    match = _CRITERION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--fail-on {text!r} is not METRIC:PERCENT%[,FLOOR][,alone][,each], such as "
            "steady:10%, or system:10%,20ms, or wakeups:5%,alone, or cpu:25%,each."
        )
    metric = next((one for one in metrics if one.name == match["metric"]), None)
    if metric is None:
        names = ", ".join(one.name for one in metrics)
        raise UsageError(
            f"--fail-on {text!r}: there is no metric {match['metric']!r}. There are: {names}."
        )
    unit, size = _FLOORS.get(metric.unit, ("", 1.0))
    if match["floor"] and match["unit"] != unit:
        raise UsageError(f"--fail-on {text!r}: a floor for {metric.name} is written as 20{unit}.")
    if match["alone"] and metric.explains is None:
        raise UsageError(
            f"--fail-on {text!r}: 'alone' is for what explains a cost, such as wakeups, and "
            f"{metric.name} explains none."
        )
    return Criterion(
        metric=metric,
        margin=float(match["percent"]) / 100,
        floor=float(match["floor"] or 0) * size,
        alone=match["alone"] is not None,
        each=match["each"] is not None,
    )


_DEFAULTS = {
    Scope.WAITING: (
        "steady:10%", "steady:25%,each", "cpu:10%",
        # By ticks of 4 ms, that of half a second of waiting is known to some 20 ms.
        "steady-system:25%,25ms",
        "wakeups:5%", "syscalls:5%", "latency-p50:25%,5ms", "latency:25%,50ms",
        "rss:10%,8MiB", "memory:10%,8MiB",
        "startup:25%,100ms", "shutdown:25%,100ms", "stop:25%,100ms", "foreign-cpu:25%,250ms",
    ),
    Scope.LARGE_CHANGES: ("cpu:100%", "cpu:100%,each"),
    Scope.WORKING: ("cpu:10%", "cpu:25%,each"),
}  # fmt: skip
DEFAULTS = tuple(
    replace(criterion, scope=scope)
    for scope, texts in _DEFAULTS.items()
    for criterion in parse(texts, (*METRICS, MEMORY, STOP))
)
"""What the gate asks unless told otherwise: of dataflows thirteen, and three
that only alarm, in each scenario.

What waiting costs is asked first, in the window and in all; then what it consists of, and what a
change may trade for CPU: lateness, memory, start-up, shutdown; and what a candidate has others do
for it, such as a broker or the kernel. Where a group is a single scenario, as that of a worker
file, its CPU is asked for ``_OF_ONE``: less cannot be told apart in minutes.
"""
_OF_ONE = 0.15


@dataclass(frozen=True, kw_only=True)
class Question:
    """One criterion, asked of one candidate in one scenario, or in several together."""

    criterion: Criterion
    label: str
    records: tuple[Record, ...]
    """Those of the scenarios."""
    is_partial: bool = False
    """Whether it is about more scenarios, which are measured elsewhere: see ``within``."""

    @property
    def place(self) -> str:
        """Where it is asked, for people."""
        first = self.records[0]
        if len(self.records) == 1:
            return first.scenario
        scope = self.criterion.scope
        group = "" if scope is Scope.EVERY else f"{scope.value} "
        return f"{len(self.records)} {group}scenarios together"

    @property
    def only_alarms(self) -> bool:
        """Whether it may fail, but keeps nothing from a pass: a default of each scenario.

        Nothing is certain of a single scenario after the rounds that settle all together. These
        pass only if none of them lies apart.
        """
        return self.criterion.each and self.criterion in DEFAULTS

    @property
    def can_fail_by_dear_runs(self) -> bool:
        """Only costs can: dear runs of what else is asked keep it from a pass."""
        is_cost = self.criterion.metric.explains is None and not self.criterion.floor
        return is_cost and not self.only_alarms

    @property
    def cost(self) -> Metric | None:
        """What the criterion's metric explains, if a fall of that excuses its rise."""
        metrics = self.records[0].metrics
        return next((one for one in metrics if one.name == self.criterion.explains), None)

    @property
    def why_given_up(self) -> str | None:
        """Why there will be no more rounds; ``None`` while there may be."""
        for record in self.records:
            for label in (record.context.labels[0], self.label):
                why = record.why_given_up(label)
                if why is not None:
                    return why
        return None

    def within(self, scenarios: Collection[str]) -> Question | None:
        """The same question of those of its scenarios; ``None`` without any.

        Of only some of them it is no question of the comparison, but tells how many rounds that
        one will take. With ``n`` scenarios out of ``N`` the centre of as many rounds scatters by
        the root of ``N / n`` more, so its margin is as much wider, on the scale of logarithms: it
        is settled after about as many rounds as that of all.
        """
        here = tuple(record for record in self.records if record.scenario in scenarios)
        if len(here) == len(self.records):
            return self
        if not here:
            return None
        wider = math.log1p(self.criterion.margin) * math.sqrt(len(self.records) / len(here))
        criterion = replace(self.criterion, margin=math.expm1(wider))
        return replace(self, criterion=criterion, records=here, is_partial=True)

    def answering(self) -> Question:
        """The same question of the scenarios whose runs have the metric, or have not been made."""
        key = self.criterion.metric.key
        lacking = [
            record
            for record in self.records
            if self.is_measured(record) and not any(key in run.metrics for run in self.runs(record))
        ]
        left = tuple(record for record in self.records if record not in lacking)
        return replace(self, records=left) if left else self

    def runs(self, record: Record) -> list[Measurement]:
        """Those of the baseline and the candidate."""
        return [*record.of(record.context.labels[0]), *record.of(self.label)]

    def is_measured(self, record: Record) -> bool:
        """Whether both have a run in some round."""
        sides = (record.context.labels[0], self.label)
        baseline, candidate = ({run.round for run in record.of(side)} for side in sides)
        return bool(baseline & candidate)

    def pairs(self, metric: Metric) -> tuple[list[int], Floats]:
        """The rounds that all scenarios have, and their costs: (rounds, scenarios, 2).

        In the order in which they were measured: a round that is made again when a comparison is
        resumed comes last, so that what was looked at stays as it was. The baseline's costs come
        first. What is next to nothing counts as ``Metric.floor``.
        """
        import numpy as np

        found = [paired_by_round(one, self.label, metric) for one in self.records]
        begun: dict[int, str] = {}
        for run in (run for record in self.records for run in self.runs(record)):
            begun[run.round] = max(begun.get(run.round, ""), run.started_at)
        shared = set(found[0]).intersection(*found[1:])
        numbers = sorted(shared, key=lambda number: (begun[number], number))
        pairs = np.array([[of[number] for of in found] for number in numbers], dtype=float)
        return numbers, np.maximum(pairs.reshape(len(numbers), len(found), 2), metric.floor)

    def disturbed(self, rounds: Sequence[int]) -> int:
        """How many of some rounds count although they were disturbed in every attempt.

        On the average of the scenarios: every pair counts alike.
        """
        pairs = sum(len(one.disturbed_rounds.intersection(rounds)) for one in self.records)
        return round(pairs / len(self.records))


def ask(records: Iterable[Record], criteria: Sequence[Criterion]) -> tuple[Question, ...]:
    """Every question of a comparison, those about each scenario last.

    Nothing is asked of a scenario whose runs cannot have the metric, or that a revision cannot run.
    """
    known = tuple(records)
    candidates = tuple(dict.fromkeys(label for r in known for label in r.context.labels[1:]))
    asked = [
        question
        for label in candidates
        for criterion in criteria
        for question in _questions(criterion, label, known)
    ]
    return tuple(sorted(asked, key=lambda one: one.criterion.each))


def _questions(criterion: Criterion, label: str, known: Sequence[Record]) -> list[Question]:
    compared = (record for record in known if label in record.context.labels[1:])
    about = [record for record in compared if _is_about(criterion, record, label)]
    if criterion.each:
        groups = [[record] for record in about]
        # Of a single scenario it is asked already.
        if len(groups) == 1 and criterion in DEFAULTS:
            return []
    else:
        groups = [about] if about else []
    is_cost = criterion.metric.explains is None and not criterion.floor
    if criterion in DEFAULTS and len(about) == 1 and is_cost:
        criterion = replace(criterion, margin=max(criterion.margin, _OF_ONE))
    return [Question(criterion=criterion, label=label, records=tuple(one)) for one in groups]


def _is_about(criterion: Criterion, record: Record, label: str) -> bool:
    metric, keys, runs = criterion.metric, {one.key for one in record.metrics}, record.measurements
    both = (record.context.labels[0], label)
    if any(one.label in both and one.reason == NOT_SUPPORTED for one in record.outcomes):
        return False
    if criterion in DEFAULTS:
        # What is told to end has had one item, the poke: its lateness at p99 is its median.
        if metric.name == "latency" and STOP.key in keys:
            return False
        # Some systems do not say what other programs use.
        if metric.name == "foreign-cpu" and runs and not any(metric.key in m.metrics for m in runs):
            return False
    return criterion.scope.holds(record) and metric.key in keys

"""Records and criteria -> the questions that the gate asks, and the rounds that answer each.

A question about several scenarios together is answered by the mean of the logarithms of their
ratios within each round that all of them share: noise falls with the root of their number. (A spike
in one of them counts in full for that round, unless the machine was seen to be disturbed.)
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from waitbench.analysis.criteria import Criterion, Scope
from waitbench.analysis.rounds import paired_by_round
from waitbench.analysis.sequential import FEWEST_ROUNDS
from waitbench.analysis.statistics import log_ratios
from waitbench.model.instruments import INSTRUMENTED
from waitbench.model.metrics import Metric
from waitbench.model.record import Record
from waitbench.model.run import NOT_SUPPORTED


class Round(NamedTuple):
    """What one round says of one metric; a mean, where it is about several scenarios."""

    log: float
    """The logarithm of the ratio of candidate to baseline."""
    rise: float
    """Candidate less baseline, in the metric's unit."""
    disturbed: bool = False
    """Whether the machine did something else meanwhile, in every attempt at it."""


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
        if not self.criterion.is_pooled or len(self.records) == 1:
            return self.records[0].scenario
        scope = self.criterion.scope
        group = "" if scope is Scope.EVERY else f"{scope.value} "
        return f"{len(self.records)} {group}scenarios together"

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The scenarios that this candidate, or the baseline, cannot run."""
        return tuple(r.scenario for r in self.records if _has(r, self.label, NOT_SUPPORTED))

    @property
    def cost(self) -> Metric | None:
        """What the criterion's metric explains, if a fall of that excuses its rise."""
        metrics = self.records[0].metrics
        return next((metric for metric in metrics if metric.name == self.criterion.cost), None)

    @property
    def why_given_up(self) -> str | None:
        """Why there will be no more rounds; ``None`` while there may be."""
        for record in self.records:
            for label in (record.context.labels[0], self.label):
                why = record.why_given_up(label)
                if why is not None:
                    return why
        return None

    def within(self, scenarios: Collection[str]) -> "Question | None":
        """The same question of those of its scenarios; ``None`` without any.

        Of only some of them it is no question of the comparison, but tells how many rounds that
        one will take. The mean of ``n`` scenarios out of ``N`` scatters by the root of ``N / n``
        more than that of all does, so its margin is as much wider, on the scale of logarithms: it
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

    def narrowed(self) -> "Question | None":
        """The same question of the scenarios that answer it, or may yet; ``None`` without any."""
        answering = tuple(r for r in self.records if _may_answer(r, self.label, self.criterion))
        return replace(self, records=answering) if answering else None

    def pairs(self, metric: Metric) -> list[list[tuple[float, float]]]:
        """What baseline and candidate cost in each round of each scenario that both have."""
        return [[*paired_by_round(record, self.label, metric).values()] for record in self.records]

    def rounds(self, metric: Metric) -> list[Round]:
        """The rounds in which both revisions have a metric in all scenarios, in their order."""
        by_scenario = [paired_by_round(record, self.label, metric) for record in self.records]
        shared = set(by_scenario[0]).intersection(*by_scenario[1:])
        disturbed = {number for record in self.records for number in record.disturbed_rounds}
        return [
            _round([of[number] for of in by_scenario], metric, disturbed=number in disturbed)
            for number in sorted(shared)
        ]


def ask(records: Iterable[Record], criteria: Sequence[Criterion]) -> tuple[Question, ...]:
    """Every question of a comparison: first those about several scenarios together.

    Nothing is asked of a scenario whose runs cannot have the metric, or where it does not compare.
    """
    known = tuple(records)
    candidates = tuple(dict.fromkeys(label for r in known for label in r.context.labels[1:]))
    pooled = [
        Question(criterion=criterion, label=label, records=group)
        for label in candidates
        for criterion in criteria
        if criterion.is_pooled and (group := tuple(r for r in known if _is_about(criterion, r)))
    ]
    single = [
        Question(criterion=criterion, label=label, records=(record,))
        for record in known
        for label in record.context.labels[1:]
        for criterion in criteria
        if not criterion.is_pooled and _is_about(criterion, record)
    ]
    return (*pooled, *single)


def _is_about(criterion: Criterion, record: Record) -> bool:
    keys = {metric.key for metric in record.metrics}
    has_it = criterion.metric.key in keys and record.compares(criterion.metric)
    return criterion.scope.holds(record) and has_it


def _may_answer(record: Record, label: str, criterion: Criterion) -> bool:
    """Whether what the first look would see has the metric, or has not been measured yet."""
    if _has(record, label, NOT_SUPPORTED):
        return False
    baseline, candidate = record.of(record.context.labels[0]), record.of(label)
    measured = {run.round for run in baseline} & {run.round for run in candidate}
    # Instruments may come in only after the first look.
    looks = 2 if criterion.metric.key in INSTRUMENTED else 1
    return len(measured) < looks * FEWEST_ROUNDS or bool(
        paired_by_round(record, label, criterion.metric)
    )


def _has(record: Record, label: str, reason: str) -> bool:
    """Whether this candidate or the baseline has such an outcome."""
    both = (record.context.labels[0], label)
    return any(one.label in both and one.reason == reason for one in record.outcomes)


def _round(pairs: Sequence[tuple[float, float]], metric: Metric, *, disturbed: bool) -> Round:
    count = len(pairs)
    return Round(
        log=math.fsum(log_ratios(pairs, metric)) / count,
        rise=math.fsum(ours - theirs for theirs, ours in pairs) / count,
        disturbed=disturbed,
    )

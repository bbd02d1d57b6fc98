"""Comparisons of a revision with itself -> what the gate is worth on this machine."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import variance

from waitbench.analysis import gate
from waitbench.analysis.criteria import Criterion, Question, ask
from waitbench.analysis.distributions import noncentral_t_above, rate_interval, t_quantile
from waitbench.analysis.judging import Schedule, schedule
from waitbench.analysis.sequential import FIRST_ALARM
from waitbench.analysis.statistics import CONFIDENCE
from waitbench.model.errors import HarnessError
from waitbench.model.record import Record

POWER = 0.95


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """What the gate would find by one criterion."""

    place: str
    """The scenario, or how many of them together."""
    criterion: str
    """As a user writes it."""
    spread: float
    """Standard deviation of the logarithm of one round's ratio; NaN where no rounds were paired."""
    by_rounds: Mapping[int, float]
    """The smallest ratio found slower with a chance of ``POWER``, by the rounds of a look."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What comparisons of a revision with itself say about the gate."""

    comparisons: int
    false_alarms: int
    low: float
    high: float
    """The exact 95 % interval of the rate of false alarms."""
    sensitivities: tuple[Sensitivity, ...]


def calibrate(
    comparisons: Sequence[Sequence[Record]], criteria: Sequence[Criterion], most_rounds: int
) -> Calibration:
    """Sums up comparisons, each given as the records of the same scenarios.

    In each, the second label is the same revision as the first. What could not be measured says
    nothing about false alarms and is left out; raises ``HarnessError`` where nothing is left.
    """
    concluded = [gate.conclude(records, criteria, most_rounds) for records in comparisons]
    comparisons = [
        records
        for records, verdict in zip(comparisons, concluded, strict=True)
        if not verdict.not_measured
    ]
    verdicts = [verdict for verdict in concluded if not verdict.not_measured]
    if not verdicts:
        raise HarnessError("No comparison could be measured: the runs fail.")
    alarms = sum(bool(verdict.failures) for verdict in verdicts)
    low, high = false_alarm_interval(alarms, len(verdicts))
    # The same questions are asked in each comparison.
    asked = list(zip(*(ask(records, criteria) for records in comparisons), strict=True))
    asked = [same for same in asked if not same[0].criterion.tail]
    when = schedule(len(asked), most_rounds)
    return Calibration(
        comparisons=len(verdicts),
        false_alarms=alarms,
        low=low,
        high=high,
        sensitivities=tuple(_sensitivity(same, when) for same in asked),
    )


def _sensitivity(asked: Sequence[Question], when: Schedule) -> Sensitivity:
    """What the gate would find, from the same question in several comparisons."""
    criterion = asked[0].criterion
    spread = spread_of([[one.log for one in q.rounds(criterion.metric)] for q in asked])
    return Sensitivity(
        place=asked[0].place,
        criterion=str(criterion),
        spread=spread,
        by_rounds={
            look: detectable_change(spread, look, criterion.margin, when.errors(look).alarm)
            for look in when.looks
            if look >= FIRST_ALARM
        },
    )


def false_alarm_interval(alarms: int, comparisons: int) -> tuple[float, float]:
    """The exact 95 % interval of a rate of false alarms."""
    return rate_interval(alarms, comparisons, CONFIDENCE)


def detectable_change(spread: float, rounds: int, margin: float, error: float) -> float:
    """The smallest ratio found slower with a chance of ``POWER`` at a look after so many rounds.

    ``spread`` is the standard deviation of the logarithm of one round's ratio. The bound lies above
    the margin when a noncentral t variable exceeds its critical value; the noncentrality that gives
    the power is found by bisection.
    """
    critical = t_quantile(1 - error, rounds - 1)
    low, high = 0.0, critical + 10 * math.sqrt(1 + critical**2)
    for _ in range(60):
        middle = (low + high) / 2
        if noncentral_t_above(critical, rounds - 1, middle) < POWER:
            low = middle
        else:
            high = middle
    return math.exp(math.log1p(margin) + high * spread / math.sqrt(rounds))


def spread_of(comparisons: Sequence[Sequence[float]]) -> float:
    """The standard deviation of a round's log ratio within comparisons; NaN without two rounds.

    Pooled: each comparison has a centre of its own, and counts by its rounds.
    """
    squares, freedom = 0.0, 0
    for logs in comparisons:
        if len(logs) > 1:
            squares += variance(logs) * (len(logs) - 1)
            freedom += len(logs) - 1
    return math.sqrt(squares / freedom) if freedom else math.nan

"""A Record and criteria -> Judgements, as of the last look.

A candidate fails a criterion when the lower bound of its ratio to the baseline lies above the
margin. The bounds hold for all looks at all hypotheses (scenario × candidate × criterion) together;
see sequential.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.analysis import sequential
from waitbench.analysis.criteria import Criterion
from waitbench.analysis.sequential import Bounds
from waitbench.analysis.statistics import Verdict, log_ratios, paired
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record

_CPU = BY_NAME["cpu"]
_GREATEST = math.log(1e9)
"""Bounds of three rounds can be astronomic; files and tables hold numbers up to here."""
_HOPE_UNTIL = 6
"""Rounds after which a hypothesis may be given up."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is known about one criterion, for one candidate in one scenario."""

    scenario: str
    label: str
    criterion: Criterion
    verdict: Verdict = Verdict.UNCLEAR
    ratio: float | None = None
    """Candidate to baseline; ``None`` with too few rounds."""
    low: float | None = None
    high: float | None = None
    """Bounds that hold over all looks and hypotheses together."""
    rounds: int
    moved: bool = False
    """System time rose beyond the margin, but total CPU fell by more."""
    outweighed: bool = False
    """However much system time rose, total CPU fell by more for certain: this cannot fail."""
    hopeless: bool = False
    """The rounds that are left would not settle it, given the noise so far."""

    @property
    def settled(self) -> bool:
        """Whether more rounds would change nothing that matters."""
        return self.verdict is not Verdict.UNCLEAR or self.outweighed or self.hopeless

    @property
    def is_open(self) -> bool:
        """Whether there was no answer, and one would have mattered."""
        return self.verdict is Verdict.UNCLEAR and not self.outweighed

    @property
    def fails(self) -> bool:
        return self.verdict is Verdict.SLOWER and not self.moved

    @property
    def supported_margin(self) -> float | None:
        """The smallest margin that what was measured could tell from no change.

        ``None`` with too few rounds.
        """
        if self.low is None or self.high is None:
            return None
        return math.sqrt(self.high / self.low) - 1


def judge(
    record: Record, criteria: Sequence[Criterion], hypotheses: int, most_rounds: int
) -> tuple[Judgement, ...]:
    """Judges every candidate of a scenario by every criterion, as of the last look."""
    return tuple(
        _judgement(record, label, criterion, hypotheses, most_rounds)
        for label in record.context.labels[1:]
        for criterion in criteria
    )


def is_settled(judgements: Sequence[Judgement]) -> bool:
    """Whether more rounds would not change the answer.

    They would not once each candidate has failed, or is settled by every criterion.
    """
    by_label: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        by_label.setdefault(judgement.label, []).append(judgement)
    return all(any(j.fails for j in of) or all(j.settled for j in of) for of in by_label.values())


def _judgement(
    record: Record, label: str, criterion: Criterion, hypotheses: int, most_rounds: int
) -> Judgement:
    looks = sequential.looks_until(most_rounds)
    pairs = paired(record, label, criterion.metric)
    # Only at looks: what came after the last one does not count yet.
    count = max((look for look in looks if look <= len(pairs)), default=0)
    if count < 2:
        return Judgement(
            scenario=record.scenario, label=label, criterion=criterion, rounds=len(pairs)
        )
    pairs = pairs[:count]
    error = sequential.level(hypotheses, len(looks))
    found = sequential.bounds(log_ratios(pairs, criterion.metric), error)
    before = math.fsum(theirs for theirs, _ in pairs) / count
    rise = math.fsum(ours for _, ours in pairs) / count - before
    verdict = _verdict(found, math.log1p(criterion.margin), above_floor=rise >= criterion.floor)
    high = _ratio(found.high)
    # Where time may have moved to system, its rise is weighed against the fall of the total.
    mean_fall, certain_fall = (
        _falls_of_cpu(record, label, count, error) if criterion.may_move else (0.0, 0.0)
    )
    return Judgement(
        scenario=record.scenario,
        label=label,
        criterion=criterion,
        verdict=verdict,
        ratio=_ratio(found.centre),
        low=_ratio(found.low),
        high=high,
        rounds=count,
        moved=criterion.may_move and verdict is Verdict.SLOWER and mean_fall > rise,
        outweighed=before * (high - 1) < certain_fall,
        hopeless=_is_hopeless(found, criterion, count, most_rounds, error),
    )


def _verdict(found: Bounds, margin: float, *, above_floor: bool) -> Verdict:
    if found.low > margin:
        return Verdict.SLOWER if above_floor else Verdict.SAME
    if found.high < 0:
        return Verdict.FASTER
    return Verdict.SAME if found.high <= margin else Verdict.UNCLEAR


def _falls_of_cpu(record: Record, label: str, count: int, error: float) -> tuple[float, float]:
    """The seconds by which total CPU fell on average, and those by which it fell for certain."""
    pairs = paired(record, label, _CPU)[:count]
    before = math.fsum(theirs for theirs, _ in pairs) / count
    after = math.fsum(ours for _, ours in pairs) / count
    found = sequential.bounds(log_ratios(pairs, _CPU), error)
    return before - after, max(0.0, before * (1 - _ratio(found.high)))


def _is_hopeless(
    found: Bounds, criterion: Criterion, count: int, most_rounds: int, error: float
) -> bool:
    """Whether even a centre two standard errors away would leave bounds too wide at the last look.

    Giving up early never raises an alarm; it saves the rounds for hypotheses that can be settled.
    """
    if count < _HOPE_UNTIL or count >= most_rounds:
        return False
    reach = abs(found.centre - math.log1p(criterion.margin)) + 2 * found.standard_error
    return found.half_width_after(count, most_rounds, error) > reach


def _ratio(log: float) -> float:
    return math.exp(min(log, _GREATEST))

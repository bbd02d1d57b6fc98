"""A Question and the rounds so far -> a Judgement.

A candidate fails a criterion when the lower bound of its ratio to the baseline lies above the
margin, and that of its rise above the floor. The bounds hold at all looks together, and for alarms
at all hypotheses too: see sequential.py. So whatever any look says for certain stands, until a
later one says otherwise for certain: a question that was answered is not open again because the
next round was noisy.

What explains a cost fails only where that cost did not certainly fall by enough to pay for it.
Rounds most of which were disturbed by others answer nothing. Rare bad runs are judged in tail.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from waitbench.analysis import outliers, pace, sequential, tail
from waitbench.analysis.acceptance import Acceptance
from waitbench.analysis.criteria import Criterion, Question, Scope
from waitbench.analysis.distributions import t_quantile
from waitbench.analysis.rounds import Round, mostly_disturbed
from waitbench.analysis.sequential import Bounds, Errors, ratio
from waitbench.analysis.tail import Tail
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import Metric

_NO_HOPE = 0.05
"""A question is given up if the rounds left would settle it, either way, with less than this."""
_FIRST_COARSE_ALARM = 4
"""Rounds from which on a coarse scenario may fail: its rounds are long, and its margins wide."""
_FEWEST_TO_SAY_FOUND = 10
"""Rounds from which on it is said what would have been found.

Who stops early has seen little noise by chance, and would promise too much."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is known about one criterion, for one candidate, in the scenarios of its question."""

    place: str
    """Where, for people: the scenario, or how many of them together."""
    scenarios: tuple[str, ...]
    label: str
    criterion: Criterion
    verdict: Verdict = Verdict.INCONCLUSIVE
    ratio: float | None = None
    """Candidate to baseline; ``None`` with too few rounds."""
    is_bound: bool = False
    """Whether one side was next to nothing: the ratio is at least so far from 1."""
    low: float | None = None
    high: float | None = None
    """Bounds that hold over all looks together; the lower one over all hypotheses too."""
    rounds: int = 0
    """How many the verdict rests on."""
    would_have_found: float | None = None
    """The smallest rise, as a share, that such rounds find with a chance of 95 %.

    ``None`` with fewer than ten rounds.
    """
    means: float | None = None
    """The ratio of the means over the same rounds: rare bad runs count in full."""
    tail: Tail | None = None
    """The rare bad runs, where these are judged."""
    cost: Metric | None = None
    """What the criterion's metric explains, where that was measured and counts."""
    cost_ratio: float | None = None
    excusable: bool = False
    """It fails, but its cost seems to have fallen, and the rounds left would make that certain."""
    hopeless: bool = False
    """The rounds that are left would hardly settle it, given the noise so far."""
    disturbed: int = 0
    """How many of its rounds count although the machine did something else meanwhile."""
    why_given_up: str | None = None
    """Why there will be no more rounds of it, where runs fail, or do not have the metric."""
    is_partial: bool = False
    """Whether some of its scenarios are measured elsewhere, so that it only guides."""
    at_equal_pace: bool = False
    """Whether its ratio is that of costs at one pace of the CPUs: see ``pace``."""
    accepted: Acceptance | None = None
    """Why its rise is no failure, where the project accepts it for a time."""

    @property
    def fails(self) -> bool:
        return self.verdict is Verdict.SLOWER and self.accepted is None

    @property
    def is_unmeasured(self) -> bool:
        """Whether there is nothing that an answer could rest on, and there will be nothing."""
        return self.verdict is Verdict.NOT_MEASURED

    @property
    def is_open(self) -> bool:
        """Whether there was no answer, and one would have mattered."""
        return self.verdict is Verdict.INCONCLUSIVE

    @property
    def is_disturbed(self) -> bool:
        """Whether there is no answer because of what else the machine did."""
        return mostly_disturbed(self.disturbed, self.rounds)

    @property
    def settled(self) -> bool:
        """Whether more rounds would change nothing that matters."""
        ended = self.hopeless or self.why_given_up is not None
        return ended or not (self.is_open or self.excusable)

    @property
    def supported_margin(self) -> float | None:
        """The smallest margin that what was measured could tell from no change.

        ``None`` with too few rounds.
        """
        if self.ratio is None or self.high is None:
            return None
        return self.high / self.ratio - 1


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When one looks, and how many questions share the error of an alarm."""

    looks: tuple[int, ...]
    hypotheses: int
    tails: int = 1
    """How many questions about rare bad runs share theirs."""

    def errors(self, look: int, first_alarm: int = sequential.FIRST_ALARM) -> Errors:
        return sequential.errors_at(look, self.hypotheses, first_alarm)

    @property
    def last(self) -> int:
        return self.looks[-1]


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """What one look says."""

    count: int
    disturbed: int
    found: Bounds
    """Of the logarithm of the ratio."""
    rise: Bounds
    """In the metric's unit."""
    verdict: Verdict
    at_equal_pace: bool


def schedule(hypotheses: int, most_rounds: int, tails: int = 1) -> Schedule:
    """The looks of a comparison that asks so many questions, ``tails`` more about bad runs."""
    return Schedule(
        looks=sequential.looks_until(most_rounds),
        hypotheses=max(1, hypotheses),
        tails=max(1, tails),
    )


def first_alarm(criterion: Criterion) -> int:
    """The rounds from which on it may fail."""
    return _FIRST_COARSE_ALARM if criterion.scope is Scope.COARSE else sequential.FIRST_ALARM


def judge(question: Question, when: Schedule) -> Judgement:
    """Answers one question, as of the last look."""
    criterion = question.criterion
    asked = question.narrowed()
    about = asked or question
    why_given_up = about.why_given_up
    if asked is None and why_given_up is None:
        why_given_up = f"the runs do not have {criterion.metric.title}"
    rounds = about.rounds(criterion.metric)
    unanswered = Judgement(
        place=about.place,
        scenarios=tuple(record.scenario for record in about.records),
        label=question.label,
        criterion=criterion,
        verdict=Verdict.NOT_MEASURED if why_given_up else Verdict.INCONCLUSIVE,
        rounds=len(rounds),
        why_given_up=why_given_up,
        is_partial=question.is_partial,
    )
    if criterion.tail:
        return _judge_tail(about, rounds, when, unanswered)
    from_round = first_alarm(criterion)
    answer = _answer(rounds, criterion, when, from_round)
    cost = None
    if about.cost:
        cost = _answer(about.rounds(about.cost), Criterion(metric=about.cost, margin=0), when)
    explained = replace(
        unanswered,
        cost=about.cost if cost else None,
        cost_ratio=ratio(cost.found.centre) if cost else None,
    )
    if answer is None:
        return explained
    verdict, found = answer.verdict, answer.found
    if verdict in (Verdict.SLOWER, Verdict.INCONCLUSIVE) and _is_paid(criterion, answer, cost):
        verdict = Verdict.EXCUSED
    rises = verdict is Verdict.SLOWER
    return replace(
        explained,
        verdict=verdict,
        ratio=ratio(found.centre),
        is_bound=_is_bound(about, criterion.metric, answer.count),
        low=ratio(found.low) if math.isfinite(found.low) else None,
        high=ratio(found.high),
        rounds=answer.count,
        would_have_found=(
            found.findable(criterion.margin) - 1 if answer.count >= _FEWEST_TO_SAY_FOUND else None
        ),
        means=_ratio_of_means(about, criterion.metric, answer.count),
        excusable=rises and cost is not None and _would_fall(cost, when),
        hopeless=verdict is Verdict.INCONCLUSIVE
        and _is_hopeless(answer, criterion.margin, when, from_round),
        disturbed=answer.disturbed,
        at_equal_pace=answer.at_equal_pace,
    )


def _judge_tail(
    question: Question, rounds: Sequence[Round], when: Schedule, unanswered: Judgement
) -> Judgement:
    """Whether the candidate has rare bad runs that the baseline has not."""
    criterion = question.criterion
    found = tail.judge(
        question.pairs(criterion.metric),
        margin=criterion.margin,
        hypotheses=when.tails,
        most_rounds=when.last,
    )
    if found is None:
        return unanswered
    disturbed = sum(one.disturbed for one in rounds[: found.rounds])
    verdict = Verdict.INCONCLUSIVE
    if not mostly_disturbed(disturbed, found.rounds) and (found.is_worse or found.is_clear):
        verdict = Verdict.SLOWER if found.is_worse else Verdict.WITHIN_MARGIN
    return replace(
        unanswered,
        verdict=verdict,
        rounds=found.rounds,
        means=found.means,
        tail=found,
        hopeless=verdict is Verdict.INCONCLUSIVE and not tail.looks_left(found.rounds, when.last),
        disturbed=disturbed,
    )


def _is_bound(question: Question, metric: Metric, rounds: int) -> bool:
    """Whether in any scenario exactly one side is next to nothing, by its mean."""
    return any(
        len({math.fsum(side) / rounds < metric.floor for side in zip(*pairs[:rounds], strict=True)})
        > 1
        for pairs in question.pairs(metric)
        if pairs
    )


def _ratio_of_means(question: Question, metric: Metric, rounds: int) -> float | None:
    """Candidate to baseline, over the first rounds of all scenarios; each scenario counts alike."""
    logs = []
    for pairs in question.pairs(metric):
        theirs = math.fsum(pair[0] for pair in pairs[:rounds])
        ours = math.fsum(pair[1] for pair in pairs[:rounds])
        if theirs <= 0 or ours <= 0:
            return None
        logs.append(math.log(ours / theirs))
    return ratio(math.fsum(logs) / len(logs)) if logs else None


def _answer(
    rounds: Sequence[Round],
    criterion: Criterion,
    when: Schedule,
    from_round: int = sequential.FIRST_ALARM,
) -> _Answer | None:
    """What the last look that is certain says; the last look, if none is."""
    last = None
    # Only at looks: what came after the last one does not count yet.
    for look in reversed([look for look in when.looks if look <= len(rounds)]):
        errors = when.errors(look, from_round)
        # By what was known then: a look is not to be repeated with other figures.
        seen = pace.at_equal_pace(rounds[:look], criterion.metric)
        logs = [*zip(*(one.logs for one in seen), strict=True)]
        rises = [*zip(*(one.rises for one in seen), strict=True)]
        usual = outliers.usual(logs)
        found, rise = (
            sequential.bounds_without_outliers(one, usual, errors) for one in (logs, rises)
        )
        disturbed = sum(one.disturbed for one in seen)
        verdict = Verdict.INCONCLUSIVE
        if not mostly_disturbed(disturbed, look):
            verdict = _verdict(found, rise, criterion)
        answer = _Answer(
            count=look,
            disturbed=disturbed,
            found=found,
            rise=rise,
            verdict=verdict,
            at_equal_pace=pace.is_known(seen),
        )
        if verdict is not Verdict.INCONCLUSIVE:
            return answer
        last = last or answer
    return last


def _verdict(found: Bounds, rise: Bounds, criterion: Criterion) -> Verdict:
    margin, floor = math.log1p(criterion.margin), criterion.floor
    if found.low > margin and (not floor or rise.low > floor):
        return Verdict.SLOWER
    if found.high < 0:
        return Verdict.FASTER
    if found.high <= margin:
        return Verdict.WITHIN_MARGIN
    return Verdict.BELOW_FLOOR if floor and rise.high <= floor else Verdict.INCONCLUSIVE


def _is_paid(criterion: Criterion, answer: _Answer, cost: _Answer | None) -> bool:
    """Whether the cost certainly fell, by enough to pay for whatever the explanation rose by."""
    if cost is None or cost.verdict is not Verdict.FASTER:
        return False
    return -cost.rise.high >= criterion.metric.price_s * max(0.0, answer.rise.high)


def _would_fall(cost: _Answer, when: Schedule) -> bool:
    """Whether a cost will have fallen for certain at the last look, if it goes on as it did."""
    if cost.verdict is not Verdict.INCONCLUSIVE or cost.count >= when.last:
        return False
    found, clear = cost.found, when.errors(when.last).clear
    return found.centre + found.half_width_after(cost.count, when.last, clear) < 0


def _is_hopeless(answer: _Answer, margin: float, when: Schedule, from_round: int) -> bool:
    """Whether the rounds that are left would hardly settle it, if the noise stays as it is.

    That is predictive power as D. Spiegelhalter, L. Freedman and P. Blackburn have it ("Monitoring
    clinical trials: conditional or predictive power?", Controlled Clinical Trials 7, 1986): the
    centre at the end is as uncertain as what has been seen of it, less what will be left then.
    Giving up never raises an alarm; it saves the rounds for questions that can be settled.
    """
    found, count, last = answer.found, answer.count, when.last
    if count >= last or mostly_disturbed(answer.disturbed, count):
        return False
    errors = when.errors(max(last, from_round), from_round)
    uncertain = found.standard_error * math.sqrt(1 - count / last)
    reach = uncertain * t_quantile(1 - _NO_HOPE / 2, count - 1)
    above, limit = found.centre + reach, math.log1p(margin)
    below = found.centre - reach
    alarm = found.half_width_after(count, last, errors.alarm)
    clear = found.half_width_after(count, last, errors.clear)
    return above - alarm <= limit < below + clear

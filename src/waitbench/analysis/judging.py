"""A Question and the rounds so far -> a Judgement.

A candidate fails a criterion when the lower bound of its ratio to the baseline lies above the
margin. The bounds hold at all looks together, and for alarms at all hypotheses too: see
sequential.py. So whatever any look says for certain stands, until a later one says otherwise for
certain: a question that was answered is not open again because the next round was noisy.

What explains a cost fails only where that cost did not certainly fall. Rounds most of which were
disturbed answer nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.analysis import sequential
from waitbench.analysis.criteria import Criterion
from waitbench.analysis.distributions import t_quantile
from waitbench.analysis.questions import Question, Round
from waitbench.analysis.sequential import Bounds, Errors, ratio
from waitbench.analysis.statistics import Verdict
from waitbench.model.metrics import Metric

_NO_HOPE = 0.05
"""A question is given up if the rounds left would settle it, either way, with less than this."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is known about one criterion, for one candidate, in the scenarios of its question."""

    place: str
    """Where, for people: the scenario, or how many of them together."""
    scenarios: tuple[str, ...]
    label: str
    criterion: Criterion
    verdict: Verdict = Verdict.UNCLEAR
    ratio: float | None = None
    """Candidate to baseline; ``None`` with too few rounds."""
    low: float | None = None
    high: float | None = None
    """Bounds that hold over all looks together; the lower one over all hypotheses too."""
    rounds: int = 0
    """How many the verdict rests on."""
    would_have_found: float | None = None
    """The smallest rise, as a share, that such rounds find with a chance of 95 %."""
    cost: Metric | None = None
    """What the criterion's metric explains, where that was measured and counts."""
    cost_ratio: float | None = None
    cost_fell: bool = False
    """For certain: whatever explains that cost, it cannot fail."""
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

    @property
    def fails(self) -> bool:
        return self.verdict is Verdict.SLOWER and not self.cost_fell

    @property
    def is_unmeasured(self) -> bool:
        """Whether there is nothing that an answer could rest on, and there will be nothing."""
        return self.verdict is Verdict.NOT_MEASURED

    @property
    def is_forgiven(self) -> bool:
        """Whether it would fail if its cost had not fallen."""
        return self.verdict is Verdict.SLOWER and self.cost_fell

    @property
    def is_open(self) -> bool:
        """Whether there was no answer, and one would have mattered."""
        return self.verdict is Verdict.UNCLEAR and not self.cost_fell

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

    def errors(self, look: int) -> Errors:
        return sequential.errors_at(look, self.hypotheses)

    @property
    def last(self) -> int:
        return self.looks[-1]


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """What one look says."""

    count: int
    disturbed: int
    found: Bounds
    verdict: Verdict


def schedule(hypotheses: int, most_rounds: int) -> Schedule:
    """The looks of a comparison that asks so many questions."""
    return Schedule(looks=sequential.looks_until(most_rounds), hypotheses=hypotheses)


def judge(question: Question, when: Schedule) -> Judgement:
    """Answers one question, as of the last look."""
    criterion = question.criterion
    asked = question.narrowed()
    about = asked or question
    rounds = about.rounds(criterion.metric)
    answer = _answer(rounds, criterion.margin, criterion.floor, when)
    where = tuple(record.scenario for record in about.records)
    cost = _answer(about.rounds(about.cost), 0, 0, when) if about.cost else None
    cost_fell = cost is not None and cost.verdict is Verdict.FASTER
    why_given_up = about.why_given_up
    if asked is None and why_given_up is None:
        why_given_up = f"the runs do not have {criterion.metric.title}"
    if answer is None:
        return Judgement(
            place=about.place,
            scenarios=where,
            label=question.label,
            criterion=criterion,
            verdict=Verdict.NOT_MEASURED if why_given_up else Verdict.UNCLEAR,
            rounds=len(rounds),
            cost=about.cost if cost else None,
            cost_ratio=ratio(cost.found.centre) if cost else None,
            cost_fell=cost_fell,
            why_given_up=why_given_up,
            is_partial=question.is_partial,
        )
    found = answer.found
    is_open = answer.verdict is Verdict.UNCLEAR and not cost_fell
    rises = answer.verdict is Verdict.SLOWER
    return Judgement(
        place=about.place,
        scenarios=where,
        label=question.label,
        criterion=criterion,
        verdict=answer.verdict,
        ratio=ratio(found.centre),
        low=ratio(found.low),
        high=ratio(found.high),
        rounds=answer.count,
        would_have_found=found.findable(criterion.margin) - 1,
        cost=about.cost if cost else None,
        cost_ratio=ratio(cost.found.centre) if cost else None,
        cost_fell=cost_fell,
        excusable=rises and cost is not None and not cost_fell and _would_fall(cost, when),
        hopeless=is_open and _is_hopeless(answer, criterion.margin, when),
        disturbed=answer.disturbed,
        why_given_up=why_given_up,
        is_partial=question.is_partial,
    )


def _answer(rounds: Sequence[Round], margin: float, floor: float, when: Schedule) -> _Answer | None:
    """What the last look that is certain says; the last look, if none is."""
    last = None
    # Only at looks: what came after the last one does not count yet.
    for look in reversed([look for look in when.looks if look <= len(rounds)]):
        found = sequential.bounds([one.log for one in rounds[:look]], when.errors(look))
        rise = math.fsum(one.rise for one in rounds[:look]) / look
        disturbed = sum(one.disturbed for one in rounds[:look])
        verdict = _verdict(found, math.log1p(margin), above_floor=rise >= floor)
        if disturbed > look / 2:
            # It may be the others' doing as well as the candidate's.
            verdict = Verdict.UNCLEAR
        answer = _Answer(count=look, disturbed=disturbed, found=found, verdict=verdict)
        if verdict is not Verdict.UNCLEAR:
            return answer
        last = last or answer
    return last


def _verdict(found: Bounds, margin: float, *, above_floor: bool) -> Verdict:
    if found.low > margin:
        return Verdict.SLOWER if above_floor else Verdict.SAME
    if found.high < 0:
        return Verdict.FASTER
    return Verdict.SAME if found.high <= margin else Verdict.UNCLEAR


def _would_fall(cost: _Answer, when: Schedule) -> bool:
    """Whether a cost will have fallen for certain at the last look, if it goes on as it did."""
    if cost.verdict is not Verdict.UNCLEAR or cost.count >= when.last:
        return False
    found, clear = cost.found, when.errors(when.last).clear
    return found.centre + found.half_width_after(cost.count, when.last, clear) < 0


def _is_hopeless(answer: _Answer, margin: float, when: Schedule) -> bool:
    """Whether the rounds that are left would hardly settle it, if the noise stays as it is.

    That is predictive power as D. Spiegelhalter, L. Freedman and P. Blackburn have it ("Monitoring
    clinical trials: conditional or predictive power?", Controlled Clinical Trials 7, 1986): the
    centre at the end is as uncertain as what has been seen of it, less what will be left then.
    Giving up never raises an alarm; it saves the rounds for questions that can be settled.
    """
    found, count, last = answer.found, answer.count, when.last
    if count >= last or answer.disturbed > count / 2:
        return False
    errors = when.errors(last)
    uncertain = found.standard_error * math.sqrt(1 - count / last)
    reach = uncertain * t_quantile(1 - _NO_HOPE / 2, count - 1)
    above, limit = found.centre + reach, math.log1p(margin)
    below = found.centre - reach
    alarm = found.half_width_after(count, last, errors.alarm)
    clear = found.half_width_after(count, last, errors.clear)
    return above - alarm <= limit < below + clear

"""A Question and the rounds so far -> a Judgement, by the rule.

What explains a cost fails only where that cost did not certainly fall by a tenth. Rounds most of
which other programs disturbed let nothing pass, but do not take back an alarm: a candidate that
leaves work behind disturbs the baseline's next run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from waitbench.analysis import rule
from waitbench.analysis.acceptance import Acceptance
from waitbench.analysis.criteria import Criterion, Question
from waitbench.analysis.rounds import mostly_disturbed
from waitbench.analysis.rule import Finding
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import Metric

PAYS = 0.1
"""The share by which a cost must certainly have fallen to excuse a rise of what explains it."""
_PASSES = (Verdict.WITHIN_MARGIN, Verdict.FASTER)


@dataclass(frozen=True, kw_only=True)
class Judgement(Finding):
    """What is known about one criterion, for one candidate, in the scenarios of its question."""

    place: str
    """Where, for people: the scenario, or how many of them together."""
    scenarios: tuple[str, ...]
    label: str
    criterion: Criterion
    cost: Metric | None = None
    """What the criterion's metric explains, where that was measured and counts."""
    cost_ratio: float | None = None
    disturbed: int = 0
    """How many of its rounds count although the machine did something else meanwhile."""
    why_given_up: str | None = None
    """Why there will be no more rounds of it, where runs fail, or do not have the metric."""
    is_partial: bool = False
    """Whether some of its scenarios are measured elsewhere, so that it only guides."""
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
        """Whether most of its rounds are so, which lets nothing pass."""
        return mostly_disturbed(self.disturbed, self.rounds)

    @property
    def settled(self) -> bool:
        """Whether more rounds would change nothing that matters."""
        if self.why_given_up is not None or self.rounds >= rule.LOOKS[-1]:
            return True
        if self.accepted is not None:
            # With a floor the bound is not of the ratio to the baseline.
            return self.accepted.stands(None if self.criterion.floor else self.high)
        return not self.is_open


def judge(question: Question, asked: Sequence[Question]) -> Judgement:
    """Answers one of a comparison's questions, as of the latest look."""
    criterion, cost = question.criterion, question.criterion.cost
    numbers, pairs = question.pairs(criterion.metric)
    why_given_up = question.why_given_up
    if why_given_up is None and not numbers and all(map(question.is_measured, question.records)):
        why_given_up = f"the runs do not have {criterion.metric.title}"
    verdict = Verdict.NOT_MEASURED if why_given_up else Verdict.INCONCLUSIVE
    found, of_cost = Finding(verdict=verdict, rounds=len(numbers)), None
    if look := rule.latest_look(len(numbers)):
        found = rule.judge(
            pairs[:look],
            margin=criterion.margin,
            floor=criterion.floor,
            alarm=rule.ALARM * _part(criterion, asked),
            dear_alarm=rule.ALPHA_DEAR * _part(criterion, asked, by_dear_runs=True),
        )
        costs = question.pairs(cost)[1] if cost else ()
        if len(costs) >= look:
            # What fell in one scenario pays for no rise in another.
            of_cost = rule.judge(costs[:look], margin=-PAYS, beyond=1.0)
            if found.verdict not in _PASSES and of_cost.verdict in _PASSES:
                found = replace(found, verdict=Verdict.EXCUSED)
    disturbed = question.disturbed(numbers[: found.rounds])
    if mostly_disturbed(disturbed, found.rounds) and found.verdict in (*_PASSES, Verdict.EXCUSED):
        found = replace(found, verdict=Verdict.INCONCLUSIVE)
    return Judgement(
        **vars(found),
        place=question.place,
        scenarios=tuple(record.scenario for record in question.records),
        label=question.label,
        criterion=criterion,
        cost=cost if of_cost else None,
        cost_ratio=of_cost.ratio if of_cost else None,
        disturbed=disturbed,
        why_given_up=why_given_up,
        is_partial=question.is_partial,
    )


def _part(criterion: Criterion, asked: Sequence[Question], *, by_dear_runs: bool = False) -> float:
    """The part of an error that a question about this criterion has; 0 where it cannot make it.

    The first criterion has a half, by default what waiting costs; the others have equal parts of
    the rest. Candidates, and the scenarios of a criterion that is asked of each, divide theirs.
    """
    able = [one for one in asked if one.criterion.can_fail_by_dear_runs or not by_dear_runs]
    count = sum(one.criterion == criterion for one in able)
    if not count:
        return 0.0
    first, *others = dict.fromkeys(one.criterion for one in able)
    if not others:
        return 1 / count
    return 1 / count / 2 / (1 if criterion == first else len(others))

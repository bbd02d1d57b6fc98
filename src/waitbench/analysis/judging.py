"""A Question and the rounds so far -> a Judgement, by the rule.

What explains a cost fails only where that cost did not certainly fall by a tenth. Rounds most of
which other programs disturbed let nothing pass, but do not take back an alarm: a candidate that
leaves work behind disturbs the baseline's next run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from waitbench.analysis import rule
from waitbench.analysis.acceptance import Acceptance
from waitbench.analysis.criteria import Criterion, Question
from waitbench.analysis.rounds import mostly_disturbed
from waitbench.analysis.rule import Finding
from waitbench.analysis.verdicts import Verdict
from waitbench.model.record import Record

PAYS = 0.1
"""The share by which a cost must certainly have fallen to excuse a rise of what explains it."""
_PASSES = (Verdict.WITHIN_MARGIN, Verdict.FASTER)


@dataclass(frozen=True, kw_only=True)
class Judgement(Question, Finding):
    """A question, and what is known of it."""

    cost_ratio: float | None = None
    """That of the cost which the criterion's metric explains, where it was measured and counts."""
    disturbed: int = 0
    """How many of its rounds count although the machine did something else meanwhile.

    On the average of the scenarios: every pair counts alike.
    """
    why_given_up: str | None = None
    """Why there will be no more rounds of it, where runs fail, or do not have the metric."""
    accepted: Acceptance | None = None
    """Why its rise is no failure, where the project accepts it for a time."""

    @property
    def fails(self) -> bool:
        return self.verdict is Verdict.SLOWER and self.accepted is None

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
    criterion, cost, records = question.criterion, question.criterion.cost, question.records
    numbers, pairs = question.pairs(criterion.metric)
    sides = (records[0].context.labels[0], question.label)
    given_up = (one.why_given_up(label) for one in records for label in sides)
    why_given_up = next(filter(None, given_up), None)
    if not (why_given_up or numbers) and all(_is_measured(one, sides) for one in records):
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
    counted = numbers[: found.rounds]
    disturbed = sum(len(one.disturbed_rounds.intersection(counted)) for one in records)
    judged = Judgement(
        **vars(question),
        **vars(found),
        cost_ratio=of_cost.ratio if of_cost else None,
        disturbed=round(disturbed / len(records)),
        why_given_up=why_given_up,
    )
    is_muted = judged.is_disturbed and judged.verdict in (*_PASSES, Verdict.EXCUSED)
    return replace(judged, verdict=Verdict.INCONCLUSIVE) if is_muted else judged


def _is_measured(record: Record, labels: Iterable[str]) -> bool:
    """Whether these revisions have a run in some round, whatever it holds."""
    return bool(set.intersection(*({run.round for run in record.of(one)} for one in labels)))


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

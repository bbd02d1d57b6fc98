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
from waitbench.analysis.rule import Finding, Share
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import Metric


@dataclass(frozen=True, kw_only=True)
class Judgement(Finding):
    """What is known about one criterion, for one candidate, in the scenarios of its question."""

    place: str
    """Where, for people: the scenario, or how many of them together."""
    scenarios: tuple[str, ...]
    label: str
    criterion: Criterion
    last_look: int = 0
    """The number of rounds after which one looks for the last time."""
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
        has_ended = self.why_given_up is not None or self.rounds >= self.last_look
        if self.accepted is not None:
            # With a floor the bound is not of the ratio to the baseline.
            return has_ended or self.accepted.stands(None if self.criterion.floor else self.high)
        return has_ended or not self.is_open


def judge(question: Question, share: Share) -> Judgement:
    """Answers one of a comparison's questions, as of the latest look."""
    criterion = question.criterion
    about = question.answering()
    numbers, pairs = about.pairs(criterion.metric)
    why_given_up = about.why_given_up
    if why_given_up is None and not numbers and all(map(about.is_measured, about.records)):
        why_given_up = f"the runs do not have {criterion.metric.title}"
    found = rule.judge(pairs, margin=criterion.margin, floor=criterion.floor, share=share)
    if found is None:
        verdict = Verdict.NOT_MEASURED if why_given_up else Verdict.INCONCLUSIVE
        found = Finding(verdict=verdict, rounds=len(numbers))
    judged = Judgement(
        **vars(found),
        place=about.place,
        scenarios=tuple(record.scenario for record in about.records),
        label=question.label,
        criterion=criterion,
        disturbed=about.disturbed(numbers[: found.rounds]),
        last_look=rule.LOOKS[-1],
        why_given_up=why_given_up,
        is_partial=question.is_partial,
    )
    judged = _explained(judged, about)
    passes = judged.verdict in (Verdict.WITHIN_MARGIN, Verdict.FASTER, Verdict.EXCUSED)
    is_muted = passes and judged.is_disturbed
    return replace(judged, verdict=Verdict.INCONCLUSIVE) if is_muted else judged


def share_of(question: Question, questions: Sequence[Question]) -> Share:
    """Its share of the errors of all that is asked."""
    part_dear = 0.0
    if question.can_fail_by_dear_runs:
        part_dear = _part(question, [one for one in questions if one.can_fail_by_dear_runs])
    return Share(part=_part(question, questions), part_dear=part_dear)


def _part(question: Question, questions: Sequence[Question]) -> float:
    """What asks for the first criterion has a half of an error, what asks for others the rest.

    The first of the defaults is what waiting costs. Candidates, the other criteria, and the
    scenarios of one that is asked of each have equal parts.
    """
    of_label = [one.criterion for one in questions if one.label == question.label]
    first, *others = dict.fromkeys(of_label)
    labels = len({one.label for one in questions})
    equal = 1 / labels / of_label.count(question.criterion)
    if not others:
        return equal
    return equal / 2 if question.criterion == first else equal / 2 / len(others)


def _explained(judged: Judgement, about: Question) -> Judgement:
    """The same, excused where it explains a cost that certainly fell: by the same rule."""
    if about.cost is None:
        return judged
    _, pairs = about.pairs(about.cost)
    # What fell in one scenario pays for no rise in another.
    cost = rule.judge(
        pairs[: judged.rounds], margin=-rule.PAYS, floor=0.0, share=Share(), beyond=1.0
    )
    # The figures beside each other are of the same rounds.
    if cost is None or cost.rounds != judged.rounds:
        return judged
    rose = judged.verdict in (Verdict.SLOWER, Verdict.INCONCLUSIVE)
    is_excused = rose and cost.verdict in (Verdict.WITHIN_MARGIN, Verdict.FASTER)
    return replace(
        judged,
        verdict=Verdict.EXCUSED if is_excused else judged.verdict,
        cost=about.cost,
        cost_ratio=cost.ratio,
    )

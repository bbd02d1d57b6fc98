"""Makes the verdict of the gate: the answers to all questions, the outcome, the exit code."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from waitbench.analysis.criteria import Acceptance, Criterion
from waitbench.analysis.judging import Judgement, judge, make_question, make_questions
from waitbench.analysis.rounds import concurrent_rounds_understate, mostly_disturbed
from waitbench.analysis.rule import RULE, Rule
from waitbench.analysis.statistics import both_sides, mean
from waitbench.model.errors import ExitCode
from waitbench.model.record import ScenarioResults
from waitbench.model.run import ENDED, HARMLESS
from waitbench.model.verdicts import GateStatus, Verdict

LOST, UNSUPPORTED = "lost", "unsupported"
"""Why a scenario is not judged: only the candidate lacks support for it, or both revisions do."""
_ENOUGH_DISTURBED = RULE.analyses[1]
"""The disturbed rounds after which a gate may end: enough for a single scenario to fail."""


@dataclass(frozen=True, kw_only=True)
class FailedRuns:
    """The failed or incomplete runs of one revision in one scenario."""

    label: str
    scenario: str
    count: int
    message: str


@dataclass(frozen=True, kw_only=True)
class GateVerdict:
    """The answers to all questions, and everything else that decides the outcome."""

    judgements: tuple[Judgement, ...]
    """Questions about single scenarios come last."""
    rule: Rule = RULE
    inconclusive_passes: bool = False
    failed_runs: tuple[FailedRuns, ...] = ()
    not_asked: tuple[tuple[str, str], ...] = ()
    """Each revision that could not run, as ``label in scenario``, and the reason."""
    left_out: tuple[str, ...] = ()
    """Sentences about default criteria that this machine cannot measure."""

    @property
    def failures(self) -> tuple[Judgement, ...]:
        return tuple(it for it in self.judgements if it.fails)

    @property
    def accepted(self) -> tuple[Judgement, ...]:
        return tuple(it for it in self.judgements if it.accepted is not None)

    def answers(self, verdict: Verdict) -> tuple[Judgement, ...]:
        return tuple(it for it in self.judgements if it.verdict is verdict)

    @property
    def outcome(self) -> GateStatus:
        """A certain failure takes precedence over missing data."""
        if self.failures:
            return GateStatus.FAIL
        is_lacking = self.answers(Verdict.NOT_MEASURED) or not any(
            answer.rounds for answer in self.judgements
        )
        if is_lacking or self.failed_runs or any(why == LOST for _, why in self.not_asked):
            return GateStatus.NOT_MEASURED
        return GateStatus.INCONCLUSIVE if self.answers(Verdict.INCONCLUSIVE) else GateStatus.PASS

    @property
    def exit_code(self) -> ExitCode:
        if self.outcome is GateStatus.FAIL:
            return ExitCode.REGRESSION
        passes = self.inconclusive_passes and self.outcome is GateStatus.INCONCLUSIVE
        return ExitCode.OK if passes or self.outcome is GateStatus.PASS else ExitCode.FAILED


def judge_all(
    records: Iterable[ScenarioResults],
    criteria: Sequence[Criterion],
    elsewhere: Iterable[ScenarioResults] = (),
    acceptances: Sequence[Acceptance] = (),
    rule: Rule = RULE,
) -> tuple[Judgement, ...]:
    """Answers every question of a comparison about scenarios that both revisions support.

    Leaves out questions that can only fail, unless they do. The allowed error is also divided over
    questions about the scenarios ``elsewhere``, which other machines measure.
    """
    here = tuple(records)
    names = {record.scenario for record in here}
    questions = make_questions((*here, *elsewhere), criteria, rule)
    answers = []
    for question in questions:
        measured = [record for record in question.records if record.scenario in names]
        if measured:
            part = make_question(question.criterion, question.revision, measured, rule)
            is_partial = len(measured) < len(question.records)
            answer = judge(replace(part, is_partial=is_partial), questions)
            if answer.fails or not answer.criterion.can_only_fail:
                answers.append(_with_acceptance(answer, acceptances))
    return tuple(answers)


def _with_acceptance(answer: Judgement, acceptances: Sequence[Acceptance]) -> Judgement:
    """Adds the first acceptance of a failure to the answer, if there is one. Limits have none."""
    if not answer.fails or answer.limit is not None:
        return answer
    about = str(answer.criterion), answer.metric.name, answer.scenarios
    return replace(answer, accepted=next((it for it in acceptances if it.accepts(*about)), None))


def _with_figures(answer: Judgement) -> Judgement:
    """Adds the means of both sides of a single scenario, and whether ratio and rise are bounds."""
    metric, ratio = answer.metric, answer.ratio
    record, *others = answer.records
    sides = ((), ()) if others else both_sides(record, answer.revision, metric)
    means = before, after = [mean(side) if side else None for side in sides]
    is_below = any(it and it.value < metric.resolution for it in means)
    if ratio is not None and is_below and not answer.allowance and not answer.limit:
        ratio = replace(ratio, is_bound=True)
    at_least = answer.verdict is Verdict.SLOWER and any(
        concurrent_rounds_understate(record, answer.revision, metric) for record in answer.records
    )
    return replace(answer, before=before, after=after, ratio=ratio, at_least=at_least)


def unsettled(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """The questions that need more rounds.

    A candidate that has failed gets one round in each scenario that is left, for its figures. Once
    both sides of a question always exceed a time limit, the gate cannot pass, and ends.
    """
    if any(it.is_always_missed for it in judgements):
        return ()
    certain = [it for it in judgements if it.fails and not it.is_partial]
    failed = {(it.revision, scenario) for it in certain for scenario in it.scenarios}
    labels = {label for label, _ in failed}
    return tuple(
        it
        for it in judgements
        if not it.is_settled
        and failed.isdisjoint((it.revision, scenario) for scenario in it.scenarios)
        and not (it.revision in labels and it.rounds)
    )


def is_too_disturbed(records: Iterable[ScenarioResults]) -> bool:
    """Whether other programs use the machine too much for more rounds to help.

    They must disturb most rounds at each position of the baseline: processes that a candidate left
    behind disturb the baseline only if the candidate ran before it.
    """
    records = tuple(records)
    disturbed = sum(len(record.disturbed_rounds) for record in records)
    # Whether rounds were disturbed, by the scenario and the baseline's position.
    rounds: defaultdict[tuple[str, int], list[bool]] = defaultdict(list)
    for record in records:
        for run in record.of(record.context.labels[0]):
            rounds[record.scenario, run.position].append(run.round in record.disturbed_rounds)
    return disturbed >= _ENOUGH_DISTURBED and all(
        mostly_disturbed(sum(flags), len(flags)) for flags in rounds.values()
    )


def conclude(
    records: Iterable[ScenarioResults],
    criteria: Sequence[Criterion],
    *,
    inconclusive_passes: bool = False,
    left_out: Sequence[str] = (),
    acceptances: Sequence[Acceptance] = (),
    rule: Rule = RULE,
) -> GateVerdict:
    """Judges a comparison by its runs so far."""
    records = tuple(records)
    not_asked = []
    for record in records:
        ended = {it.label for it in record.failed_runs if it.reason == ENDED} & record.unable
        is_lost = record.context.labels[0] not in record.unable - ended
        for label in record.unable:
            why = ENDED if label in ended else LOST if is_lost else UNSUPPORTED
            not_asked.append((f"{label} in {record.scenario}", why))
    answers = judge_all(records, criteria, acceptances=acceptances, rule=rule)
    return GateVerdict(
        judgements=tuple(map(_with_figures, answers)),
        rule=rule,
        inconclusive_passes=inconclusive_passes,
        failed_runs=tuple(runs for record in records for runs in failures_by_revision(record)),
        not_asked=tuple(sorted(not_asked)),
        left_out=tuple(left_out),
    )


def failures_by_revision(record: ScenarioResults) -> list[FailedRuns]:
    """The failed runs of a scenario, by revision.

    A run that failed, but succeeded when it was repeated, counts if its revision is unreliable.
    Otherwise any comparison would pass if it is resumed often enough.
    """
    unreliable, failures = record.unreliable, record.failures
    failed = [
        it
        for it in record.failed_runs
        if it in failures or (it.label in unreliable and it.reason not in HARMLESS)
    ]
    return [
        FailedRuns(label=label, scenario=record.scenario, count=len(texts), message=texts[-1])
        for label in record.context.labels
        if (texts := [it.message for it in failed if it.label == label])
    ]


def incomplete_runs(record: ScenarioResults) -> list[FailedRuns]:
    """The runs of a scenario that count although they lack a metric."""
    # Metrics that lack values in the same runs, for the same reasons, make one entry.
    reasons = {
        (label, tuple(lack.why for run in record.of(label) if (lack := run.incomplete.get(key))))
        for label in record.context.labels
        for key in {key for run in record.of(label) for key in run.incomplete}
    }
    return [
        FailedRuns(label=label, scenario=record.scenario, count=len(texts), message=texts[-1])
        for label, texts in sorted(reasons)
    ]

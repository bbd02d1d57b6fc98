"""Records and criteria -> the answer of the gate: all judgements, the outcome, the exit code."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from waitbench.analysis.criteria import Criterion
from waitbench.analysis.judging import Judgement, ask, judge
from waitbench.analysis.rounds import mostly_disturbed
from waitbench.model.acceptance import Acceptance
from waitbench.model.errors import ExitCode
from waitbench.model.record import Record
from waitbench.model.run import ENDED, HARMLESS
from waitbench.model.verdicts import GateOutcome, Verdict

LOST, UNSUPPORTED = "lost", "unsupported"
"""The baseline supports a scenario, and the candidate does not; or the baseline does not either."""
_ENOUGH_DISTURBED = 8
"""Disturbed rounds after which the machine is given up, if they are most of all rounds."""


@dataclass(frozen=True, kw_only=True)
class FailedRuns:
    """The runs of one revision in one scenario that gave no measurement, or lack a part of it."""

    label: str
    scenario: str
    count: int
    message: str
    """Of the last."""


@dataclass(frozen=True, kw_only=True)
class GateVerdict:
    """The answer of the gate."""

    judgements: tuple[Judgement, ...]
    """Those about several scenarios together first."""
    inconclusive_passes: bool = False
    """Whether the exit code of an inconclusive comparison is that of a pass."""
    failed_runs: tuple[FailedRuns, ...] = ()
    not_asked: tuple[tuple[str, str], ...] = ()
    """``label in scenario`` for what could not run there, and why: ``LOST``, or a harmless one."""
    left_out: tuple[str, ...] = ()
    """Default criteria that were not asked because this machine cannot measure them; and why."""

    @property
    def failures(self) -> tuple[Judgement, ...]:
        return tuple(j for j in self.judgements if j.fails)

    @property
    def accepted(self) -> tuple[Judgement, ...]:
        """Those that would have failed."""
        return tuple(j for j in self.judgements if j.accepted is not None)

    def of(self, verdict: Verdict) -> tuple[Judgement, ...]:
        """Those with this answer."""
        return tuple(j for j in self.judgements if j.verdict is verdict)

    @property
    def outcome(self) -> GateOutcome:
        """A criterion that certainly failed has failed, whatever else is not known."""
        if self.failures:
            return GateOutcome.FAIL
        has_lost = any(why == LOST for _, why in self.not_asked)
        if self.of(Verdict.NOT_MEASURED) or self.failed_runs or has_lost or not self.judgements:
            return GateOutcome.NOT_MEASURED
        return GateOutcome.INCONCLUSIVE if self.of(Verdict.INCONCLUSIVE) else GateOutcome.PASS

    @property
    def exit_code(self) -> ExitCode:
        if self.outcome is GateOutcome.FAIL:
            return ExitCode.REGRESSION
        is_passed_over = self.outcome is GateOutcome.INCONCLUSIVE and self.inconclusive_passes
        is_passed = self.outcome is GateOutcome.PASS or is_passed_over
        return ExitCode.OK if is_passed else ExitCode.FAILED


def judge_all(
    records: Iterable[Record],
    criteria: Sequence[Criterion],
    elsewhere: Iterable[Record] = (),
    acceptances: Sequence[Acceptance] = (),
) -> tuple[Judgement, ...]:
    """Answers every question of a comparison but those that a revision does not support.

    What only alarms is among the answers only if it does. Scenarios that are measured ``elsewhere``
    have their part of the allowed error, and no answer here.
    """
    known = tuple(records)
    here = {record.scenario for record in known}
    asked = ask((*known, *elsewhere), criteria)
    found = []
    for whole in asked:
        measured = tuple(record for record in whole.records if record.scenario in here)
        if measured:
            is_partial = len(measured) < len(whole.records)
            question = replace(whole, records=measured, is_partial=is_partial)
            found.append(_accepted(judge(question, asked), acceptances))
    return tuple(
        one for one in found if one.verdict is Verdict.SLOWER or not one.criterion.only_alarms
    )


def _accepted(judgement: Judgement, acceptances: Sequence[Acceptance]) -> Judgement:
    """A judgement, with what accepts it if it would fail."""
    if not judgement.fails or judgement.criterion.limit is not None:
        return judgement
    asked, where = judgement.criterion, judgement.scenarios
    found = (one for one in acceptances if one.accepts(str(asked), asked.metric.name, where))
    return replace(judgement, accepted=next(found, None))


def unsettled(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """Those that more rounds could change, where that matters.

    Where a candidate has failed for certain, nothing more need be known of it. Elsewhere it is
    measured for one round, so that every scenario has figures. Where a question can have no answer,
    the gate cannot pass, and ends.
    """
    if any(one.has_no_answer for one in judgements):
        return ()
    certain = [j for j in judgements if j.fails and not j.is_partial]
    failed = {(j.label, scenario) for j in certain for scenario in j.scenarios}
    labels = {label for label, _ in failed}
    return tuple(
        j
        for j in judgements
        if not j.settled
        and failed.isdisjoint((j.label, scenario) for scenario in j.scenarios)
        and not (j.label in labels and j.rounds)
    )


def is_too_disturbed(records: Iterable[Record]) -> bool:
    """Whether others use the machine so much that more rounds would not answer anything.

    They do so in most rounds of each scenario, whichever revision was first: a candidate that
    leaves work behind disturbs the baseline only where it ran before it.
    """
    known = tuple(records)
    disturbed = sum(len(record.disturbed_rounds) for record in known)
    # The rounds of each scenario, by the place that the baseline's run had in them.
    places: dict[tuple[str, int], list[bool]] = {}
    for record in known:
        for run in record.of(record.context.labels[0]):
            place = (record.scenario, run.position)
            places.setdefault(place, []).append(run.round in record.disturbed_rounds)
    return disturbed >= _ENOUGH_DISTURBED and all(
        mostly_disturbed(sum(rounds), len(rounds)) for rounds in places.values()
    )


def conclude(
    records: Iterable[Record],
    criteria: Sequence[Criterion],
    *,
    inconclusive_passes: bool = False,
    left_out: Sequence[str] = (),
    acceptances: Sequence[Acceptance] = (),
) -> GateVerdict:
    """Judges everything that was measured in one comparison."""
    known = tuple(records)
    not_asked = []
    for record in known:
        has_ended = {one.label for one in record.outcomes if one.reason == ENDED} & record.unable
        is_lost = record.context.labels[0] not in record.unable - has_ended
        for label in record.unable:
            why = ENDED if label in has_ended else LOST if is_lost else UNSUPPORTED
            not_asked.append((f"{label} in {record.scenario}", why))
    return GateVerdict(
        judgements=judge_all(known, criteria, acceptances=acceptances),
        inconclusive_passes=inconclusive_passes,
        failed_runs=tuple(one for record in known for one in failed_runs(record)),
        not_asked=tuple(sorted(not_asked)),
        left_out=tuple(left_out),
    )


def failed_runs(record: Record) -> list[FailedRuns]:
    """The runs of a scenario that gave no measurement, but for those made again since.

    Where a revision is unreliable, these are failures, too: else a comparison would pass that is
    resumed often enough.
    """
    unreliable, left = record.unreliable, record.failures
    failed = [
        one
        for one in record.outcomes
        if one in left or (one.label in unreliable and one.reason not in HARMLESS)
    ]
    return [
        FailedRuns(label=label, scenario=record.scenario, count=len(own), message=own[-1])
        for label in record.context.labels
        if (own := [one.message for one in failed if one.label == label])
    ]


def incomplete_runs(record: Record) -> list[FailedRuns]:
    """The runs of a scenario that lack something, such as an answer, and count all the same."""
    whys = {
        (label, tuple(lack.why for run in runs if (lack := run.incomplete.get(key))))
        for label in record.context.labels
        for runs in [record.of(label)]
        for key in {key for run in runs for key in run.incomplete}
    }
    return [
        FailedRuns(label=label, scenario=record.scenario, count=len(why), message=why[-1])
        for label, why in sorted(whys)
    ]

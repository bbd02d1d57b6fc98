"""Records and criteria -> the answer of the gate: all judgements, and the exit code."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from waitbench.analysis import questions
from waitbench.analysis.criteria import Criterion
from waitbench.analysis.judging import Judgement, judge, schedule
from waitbench.model.errors import ExitCode
from waitbench.model.record import Record
from waitbench.model.run import DISTURBED


@dataclass(frozen=True, kw_only=True)
class GateVerdict:
    """The answer of the gate."""

    criteria: tuple[Criterion, ...]
    judgements: tuple[Judgement, ...]
    """Those about several scenarios together first."""
    strict: bool
    """Whether an open question counts as failed."""
    hypotheses: int
    """Number of those whose joint error is bounded."""
    most_rounds: int
    disturbed_runs: int
    """Runs that were repeated because the machine did something else."""
    disturbed_rounds: int
    """Rounds that count although it did so in every attempt; of all scenarios together."""
    unsupported: tuple[str, ...]
    """``label in scenario`` for what could not be judged because a revision does not have it."""
    left_out: tuple[str, ...]
    """Default criteria that were not asked because this machine cannot measure them; and why."""

    @property
    def failures(self) -> tuple[Judgement, ...]:
        return tuple(j for j in self.judgements if j.fails or (self.strict and j.is_open))

    @property
    def open(self) -> tuple[Judgement, ...]:
        return tuple(j for j in self.judgements if j.is_open)

    @property
    def not_measured(self) -> tuple[Judgement, ...]:
        return tuple(j for j in self.judgements if j.is_unmeasured)

    @property
    def passed(self) -> bool:
        return not (self.failures or self.not_measured)

    @property
    def exit_code(self) -> ExitCode:
        if self.failures:
            return ExitCode.REGRESSION
        return ExitCode.FAILED if self.not_measured else ExitCode.OK


def judge_all(
    records: Iterable[Record],
    criteria: Sequence[Criterion],
    most_rounds: int,
    elsewhere: Iterable[Record] = (),
    sharing: int = 1,
) -> tuple[Judgement, ...]:
    """Answers every question of a comparison but those that a revision does not support.

    Scenarios that are measured ``elsewhere`` have their part of the allowed error, and no answer
    here; and so many comparisons share it as ``sharing`` says.
    """
    known = tuple(records)
    here = {record.scenario for record in known}
    asked = questions.ask((*known, *elsewhere), criteria)
    when = schedule(len(asked) * sharing, most_rounds)
    return tuple(
        judge(question, when)
        for whole in asked
        if (question := whole.within(here)) is not None
        and len(question.unsupported) < len(question.records)
    )


def unsettled(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """Those that more rounds could change, where that matters.

    Where a candidate has failed, nothing more need be known of it.
    """
    failed = {(j.label, scenario) for j in judgements if has_failed(j) for scenario in j.scenarios}
    return tuple(
        j
        for j in judgements
        if not j.settled and failed.isdisjoint((j.label, scenario) for scenario in j.scenarios)
    )


def has_failed(judgement: Judgement) -> bool:
    """Whether it fails for certain, and more rounds would not excuse it."""
    return judgement.fails and judgement.settled and not judgement.is_partial


def conclude(
    records: Iterable[Record],
    criteria: Sequence[Criterion],
    most_rounds: int,
    *,
    strict: bool,
    left_out: Sequence[str] = (),
    sharing: int = 1,
) -> GateVerdict:
    """Judges everything that was measured in one comparison of so many that share an error."""
    known = tuple(records)
    asked = questions.ask(known, criteria)
    unsupported = {f"{one.label} in {name}" for one in asked for name in one.unsupported}
    return GateVerdict(
        criteria=tuple(criteria),
        judgements=judge_all(known, criteria, most_rounds, sharing=sharing),
        strict=strict,
        hypotheses=len(asked) * sharing,
        most_rounds=most_rounds,
        disturbed_runs=sum(
            outcome.reason == DISTURBED for record in known for outcome in record.outcomes
        ),
        disturbed_rounds=sum(len(record.disturbed_rounds) for record in known),
        unsupported=tuple(sorted(unsupported)),
        left_out=tuple(left_out),
    )

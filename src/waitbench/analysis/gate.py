"""Records and criteria -> the answer of the gate: all judgements, and the exit code."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from waitbench.analysis.criteria import Criterion
from waitbench.analysis.judging import Judgement, judge
from waitbench.model.errors import ExitCode
from waitbench.model.record import Record
from waitbench.model.run import DISTURBED, NOT_SUPPORTED


@dataclass(frozen=True, kw_only=True)
class GateVerdict:
    """The answer of the gate."""

    criteria: tuple[Criterion, ...]
    judgements: tuple[Judgement, ...]
    strict: bool
    """Whether unclear counts as failed."""
    hypotheses: int
    """Number of those whose joint error is bounded."""
    most_rounds: int
    disturbed_runs: int
    """Runs that were repeated because the machine did something else."""
    unsupported: tuple[str, ...]
    """``label in scenario`` for what could not be judged because a revision does not have it."""

    @property
    def failures(self) -> tuple[Judgement, ...]:
        return tuple(j for j in self.judgements if j.fails or (self.strict and j.is_open))

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.REGRESSION if self.failures else ExitCode.OK


def count_hypotheses(scenarios: int, candidates: int, criteria: Sequence[Criterion]) -> int:
    """How many judgements a comparison asks for: those whose joint error is bounded."""
    return max(1, scenarios * candidates * len(criteria))


def conclude(
    records: Iterable[Record], criteria: Sequence[Criterion], most_rounds: int, *, strict: bool
) -> GateVerdict:
    """Judges everything that was measured in one comparison."""
    known = tuple(records)
    candidates = max((len(record.context.labels) - 1 for record in known), default=0)
    hypotheses = count_hypotheses(len(known), candidates, criteria)
    judgements = []
    unsupported = set()
    for record in known:
        unable = _unable(record)
        for judgement in judge(record, criteria, hypotheses, most_rounds):
            if judgement.label in unable:
                unsupported.add(f"{judgement.label} in {record.scenario}")
            else:
                judgements.append(judgement)
    return GateVerdict(
        criteria=tuple(criteria),
        judgements=tuple(judgements),
        strict=strict,
        hypotheses=hypotheses,
        most_rounds=most_rounds,
        disturbed_runs=sum(
            outcome.reason == DISTURBED for record in known for outcome in record.outcomes
        ),
        unsupported=tuple(sorted(unsupported)),
    )


def _unable(record: Record) -> set[str]:
    """Candidates that cannot be judged: all of them where the baseline itself lacks something."""
    labels = record.context.labels
    lacking = {outcome.label for outcome in record.outcomes if outcome.reason == NOT_SUPPORTED}
    return set(labels[1:]) if labels[0] in lacking else lacking

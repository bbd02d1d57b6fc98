"""The check for continuous integration: criteria such as ``system:10%``, judged at each look, for each scenario.

A candidate fails a criterion when the lower bound of its ratio to the baseline lies above the margin. The bounds hold for all
looks of all questions (scenario × criterion × candidate) together; see sequential.py.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.analysis import sequential
from waitbench.analysis.statistics import Verdict, log_ratios, paired
from waitbench.model.errors import ExitCode, UsageError
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.store.results import Record

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "b": 1.0, "kib": 2.0**10, "mib": 2.0**20, "": 1.0}
_CRITERION = re.compile(r"(?P<metric>[a-z0-9-]+):(?P<percent>[^%,]*)%(?P<rest>(,[^,]*)*)")
_GREATEST = math.log(1e9)
_HOPE_UNTIL = 6
"""Rounds after which a question may be given up."""

FEWEST_ROUNDS = sequential.LOOKS[0]

_EXAMPLE = "such as system:10%, or system:10%,20ms, or system:10%,alone"


@dataclass(frozen=True)
class Criterion:
    """What a candidate must not do."""

    metric: Metric
    margin: float
    """Allowed rise, as a share: 0.1 for 10 %."""
    floor: float
    """A rise of the mean below this, in the metric's unit, never fails."""
    alone: bool
    """Judge system time without regard to total CPU."""

    def __str__(self) -> str:
        floor = f",{self.floor:g} {self.metric.unit}" if self.floor else ""
        return f"{self.metric.name}:{self.margin * 100:g}%{floor}{',alone' * self.alone}"


@dataclass(frozen=True)
class Judgement:
    """What is known about one criterion, for one candidate in one scenario."""

    scenario: str
    label: str
    criterion: Criterion
    verdict: Verdict
    ratio: float | None
    """Candidate to baseline; ``None`` with too few rounds."""
    low: float | None
    high: float | None
    """Bounds that hold over all looks and questions together."""
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
        """Whether the question had no answer, and one would have mattered."""
        return self.verdict is Verdict.UNCLEAR and not self.outweighed

    @property
    def fails(self) -> bool:
        return self.verdict is Verdict.SLOWER and (self.criterion.alone or not self.moved)

    @property
    def supported_margin(self) -> float | None:
        """The smallest margin that what was measured could tell from no change; ``None`` with too few rounds."""
        if self.ratio is None or self.low is None or self.high is None:
            return None
        return math.sqrt(self.high / self.low) - 1


def parse(texts: Sequence[str]) -> tuple[Criterion, ...]:
    """Reads ``--fail-on``: ``METRIC:PERCENT%[,FLOOR][,alone]``. Raises ``UsageError`` with what would be right."""
    return tuple(_parse_one(text) for text in texts)


def _parse_one(text: str) -> Criterion:
    match = _CRITERION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--fail-on {text!r} is not METRIC:PERCENT%, {_EXAMPLE}.")
    metric = BY_NAME.get(match["metric"])
    if metric is None:
        raise UsageError(f"--fail-on {text!r}: there is no metric {match['metric']!r}. There are: {', '.join(BY_NAME)}.")
    try:
        margin = float(match["percent"]) / 100
    except ValueError as error:
        raise UsageError(f"--fail-on {text!r}: {match['percent']!r} is no number of per cent, {_EXAMPLE}.") from error
    if not 0 <= margin < 100:
        raise UsageError(f"--fail-on {text!r}: the margin must be 0 % or more, and below 10,000 %.")
    floor, alone = 0.0, False
    for part in filter(None, match["rest"].split(",")):
        if part.strip() == "alone":
            alone = True
        else:
            floor = _parse_floor(part.strip(), text)
    if alone and metric.name != "system":
        raise UsageError(
            f"--fail-on {text!r}: 'alone' is for system time, which is otherwise judged together with total CPU."
        )
    return Criterion(metric, margin, floor, alone)


def _parse_floor(part: str, text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-zµ]*)", part.lower())
    if match is None or match[2] not in _UNITS:
        raise UsageError(f"--fail-on {text!r}: {part!r} is no floor, such as 20ms or 5MiB, and not 'alone'.")
    return float(match[1]) * _UNITS[match[2]]


@dataclass(frozen=True)
class GateVerdict:
    """The answer of a check."""

    criteria: tuple[Criterion, ...]
    judgements: tuple[Judgement, ...]
    strict: bool
    """Whether unclear counts as failed."""
    family: int
    """Number of questions whose joint error is bounded."""
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


def questions(scenarios: int, candidates: int, criteria: Sequence[Criterion]) -> int:
    """How many verdicts a comparison asks for: the size of the family whose joint error is bounded."""
    return max(1, scenarios * candidates * len(criteria))


def is_settled(judgements: Sequence[Judgement]) -> bool:
    """Whether more rounds would not change the answer: each candidate has failed, or has no open question."""
    labels = {judgement.label for judgement in judgements}
    of_each = ([j for j in judgements if j.label == label] for label in labels)
    return all(any(j.fails for j in of_one) or all(j.settled for j in of_one) for of_one in of_each)


def judge(record: Record, criteria: Sequence[Criterion], family: int, most_rounds: int) -> tuple[Judgement, ...]:
    """Judges every candidate of a scenario by every criterion, as of the last look."""
    candidates = record.context.labels[1:]
    return tuple(
        _judge_one(record, label, criterion, family, most_rounds) for label in candidates for criterion in criteria
    )


def _judge_one(record: Record, label: str, criterion: Criterion, family: int, most_rounds: int) -> Judgement:
    looks = sequential.looks_until(most_rounds)
    pairs = paired(record, label, criterion.metric)
    # Only at looks: what came after the last one does not count yet.
    count = max((look for look in looks if look <= len(pairs)), default=0)
    if count < 2:
        return Judgement(record.scenario, label, criterion, Verdict.UNCLEAR, None, None, None, len(pairs))
    pairs = pairs[:count]
    error = sequential.level(family, len(looks))
    found = sequential.bounds(log_ratios(pairs, criterion.metric), error)
    before = math.fsum(theirs for theirs, _ in pairs) / count
    rise = math.fsum(ours for _, ours in pairs) / count - before
    verdict = _verdict(found, math.log1p(criterion.margin), rise >= criterion.floor)
    # Bounds of three rounds can be astronomic; they stay numbers that files and tables can hold.
    ratio, low, high = (math.exp(min(value, _GREATEST)) for value in (found.centre, found.low, found.high))
    fall = _certain_fall_of_cpu(record, label, count, error) if _can_move(criterion) else 0.0
    return Judgement(
        record.scenario, label, criterion, verdict, ratio, low, high, count,
        moved=verdict is Verdict.SLOWER and _can_move(criterion) and _mean_fall_of_cpu(record, label, count) > rise,
        outweighed=before * (high - 1) < fall,
        hopeless=_is_hopeless(found, criterion, count, most_rounds, error),
    )  # fmt: skip


def _can_move(criterion: Criterion) -> bool:
    return criterion.metric.name == "system" and not criterion.alone


def _is_hopeless(found: sequential.Bounds, criterion: Criterion, count: int, most_rounds: int, error: float) -> bool:
    """Whether even a centre two standard errors away would leave bounds too wide at the last look.

    Giving up early never raises an alarm; it saves the rounds for questions that can be answered.
    """
    if count < _HOPE_UNTIL or count >= most_rounds:
        return False
    reach = abs(found.centre - math.log1p(criterion.margin)) + 2 * found.standard_error
    return found.half_width_after(count, most_rounds, error) > reach


def _verdict(found: sequential.Bounds, margin: float, above_floor: bool) -> Verdict:
    if found.low > margin:
        return Verdict.SLOWER if above_floor else Verdict.SAME
    if found.high < 0:
        return Verdict.FASTER
    return Verdict.SAME if found.high <= margin else Verdict.UNCLEAR


def _mean_fall_of_cpu(record: Record, label: str, count: int) -> float:
    pairs = paired(record, label, BY_NAME["cpu"])[:count]
    return math.fsum(theirs - ours for theirs, ours in pairs) / count


def _certain_fall_of_cpu(record: Record, label: str, count: int, error: float) -> float:
    """By how many seconds total CPU fell at least; 0 where it may not have fallen."""
    pairs = paired(record, label, BY_NAME["cpu"])[:count]
    found = sequential.bounds(log_ratios(pairs, BY_NAME["cpu"]), error)
    before = math.fsum(theirs for theirs, _ in pairs) / count
    return max(0.0, before * (1 - math.exp(min(found.high, _GREATEST))))

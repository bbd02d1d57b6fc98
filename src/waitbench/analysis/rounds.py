"""Costs by round, and tests of whether interleaved and concurrent rounds have the same ratios.

A ratio, and the means beside it, use the rounds that both revisions have.

In interleaved rounds, runs take place one at a time. In concurrent rounds, workers share pages,
caches and CPUs, and may wait for each other's locks, or answer each other's messages. Shared caches
change the costs of both revisions alike, so ratios are compared rather than costs.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from waitbench.analysis.criteria import Criterion
from waitbench.model.metrics import CENSORED, Metric
from waitbench.model.record import ScenarioResults

_FEWEST_CONCURRENT = 2
"""The least number of concurrent rounds that can be compared with interleaved rounds."""
_LEAST_SHIFT, _CLEAR_SHIFT = math.log(1.15), math.log(2)
"""Shifts of log ratios: below the first, a shift never counts; above the second, it always does."""
_MOST_OF_LIMIT = 0.5
"""The share of a limit of CPU up to which concurrent rounds show that it is kept: in them, workers
used 0.67 to 1.01 of the CPU that they used in turns (docs/statistics.md)."""

CostPairs = Sequence[tuple[float, float]]
"""Costs of the baseline and of a candidate."""


def mostly_disturbed(disturbed: float, rounds: int) -> bool:
    """Whether so many rounds were disturbed that only a failure counts."""
    return disturbed > rounds / 2


def having(metric: Metric, records: Sequence[ScenarioResults]) -> list[ScenarioResults]:
    """The records with a metric, and those without runs; all if that is none."""
    with_metric = [
        record
        for record in records
        if not record.measurements
        or any(metric.key in {*run.metrics, *run.incomplete} for run in record.measurements)
    ]
    return with_metric or [*records]


def by_round(
    sides: Iterable[tuple[ScenarioResults, str]], metric: Metric, *, with_censored: bool = False
) -> dict[int, tuple[float, ...]]:
    """The costs of sides, each a record and a revision, in the rounds that all of them have."""
    columns = [
        {
            run.round: cost
            for run in record.of(label)
            if (cost := run.cost(metric)) is not None and (with_censored or cost < CENSORED)
        }
        for record, label in sides
    ]
    shared = set(columns[0]).intersection(*columns[1:]) if columns else set()
    return {number: tuple(column[number] for column in columns) for number in sorted(shared)}


def why_interleaved(record: ScenarioResults, criteria: Sequence[Criterion]) -> str:
    """Why rounds must take turns, as concurrent costs may be too low; empty if none must.

    ``criteria`` are those whose costs concurrent rounds may change. Warm-ups are the interleaved
    round while there is no other. A metric is skipped if its cost exceeds the allowed cost in each
    round, as it fails with both kinds.
    """
    for criterion in criteria:
        metric = criterion.metric
        if criterion.limit:
            if _lacks_room(record, criterion):
                return f"{metric.title} exceeds half of its limit"
            continue
        if not criterion.scope.covers(record.spec):
            continue
        for label in record.context.labels[1:]:
            interleaved, concurrent = _by_kind(record, label, metric)
            interleaved = interleaved or _by_kind(record.of_warm_ups, label, metric)[0]
            if _differ(interleaved, concurrent, criterion):
                return f"{metric.title} differs from that of rounds one run at a time"
    return ""


def _lacks_room(record: ScenarioResults, criterion: Criterion) -> bool:
    """Whether an interleaved round, or the median of concurrent ones, comes too near a limit.

    False if each round exceeds it: it fails with both kinds.
    """
    assert criterion.limit is not None, "the caller has checked it"
    baseline, *candidates = record.context.labels
    interleaved_rounds = record.interleaved_rounds
    for label in candidates or [baseline]:
        costs = criterion.limit.pairs(record, label, criterion.metric)
        shares = {number: cost / most for number, (most, cost) in costs.items()}
        if min(shares.values(), default=0.0) > 1:
            continue
        interleaved = [shares.pop(number) for number in interleaved_rounds & shares.keys()]
        if max([*interleaved, median(shares.values() or [0.0])]) > _MOST_OF_LIMIT:
            return True
    return False


def is_confirmed(record: ScenarioResults, label: str, criterion: Criterion) -> bool:
    """Whether there is an interleaved round, or the warm-ups agree with concurrent rounds."""
    interleaved, concurrent = _by_kind(record, label, criterion.metric)
    warm_ups = _by_kind(record.of_warm_ups, label, criterion.metric)[0]
    agree = bool(warm_ups) and not _differ(warm_ups, concurrent, criterion)
    return agree or bool(interleaved)


def _differ(interleaved: CostPairs, concurrent: CostPairs, criterion: Criterion) -> bool:
    all_exceed = all(criterion.is_exceeded(*pair) for pair in (*interleaved, *concurrent))
    return not all_exceed and _shift(interleaved, concurrent, criterion.allowance) != 0.0


def concurrent_rounds_understate(record: ScenarioResults, label: str, metric: Metric) -> bool:
    """Whether a cost that more than doubled rose less in concurrent rounds, for lack of CPUs."""
    interleaved, concurrent = _by_kind(record, label, metric)
    ratios = (after / before for before, after in interleaved)
    is_multiple = min(ratios, default=0.0) > math.exp(_CLEAR_SHIFT)
    return is_multiple and _shift(interleaved, concurrent, 0.0) > 0


def _by_kind(record: ScenarioResults, label: str, metric: Metric) -> tuple[CostPairs, CostPairs]:
    """The pairs of interleaved rounds, and of concurrent ones."""
    interleaved, concurrent = list[tuple[float, float]](), list[tuple[float, float]]()
    interleaved_numbers = record.interleaved_rounds
    sides = ((record, record.context.labels[0]), (record, label))
    for number, costs in by_round(sides, metric, with_censored=True).items():
        before, after = (max(cost, metric.resolution) for cost in costs)
        (interleaved if number in interleaved_numbers else concurrent).append((before, after))
    return interleaved, concurrent


def _shift(interleaved: CostPairs, concurrent: CostPairs, allowance: float) -> float:
    """The rise of log ratios from concurrent to interleaved rounds; 0 if it is not certain.

    A shift is certain if all interleaved rounds differ in the same direction from the median of
    concurrent rounds, by more than twice the greatest deviation of these.
    """
    if not interleaved or len(concurrent) < _FEWEST_CONCURRENT:
        return 0.0
    logs, concurrent_logs = (
        [math.log((after + allowance) / (before + allowance)) for before, after in pairs]
        for pairs in (interleaved, concurrent)
    )
    centre = median(concurrent_logs)
    spread = max(abs(log - centre) for log in concurrent_logs)
    noise = min(max(_LEAST_SHIFT, 2 * spread), _CLEAR_SHIFT)
    shifts = [log - centre for log in logs]
    is_certain = min(shifts) > noise or max(shifts) < -noise
    return median(shifts) if is_certain else 0.0

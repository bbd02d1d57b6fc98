"""The costs of rounds, and whether interleaved and concurrent rounds agree about them.

A ratio, and the means beside it, use the rounds that both revisions have. ``execution.session``
repeats a disturbed round; if every attempt is disturbed, the last one counts.

In concurrent rounds, copies of a worker share pages, caches and CPUs. They may also wait for each
other's locks, or answer each other's messages. Caches change the costs of both revisions, so it is
their ratios that are compared between the two kinds of rounds.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from waitbench.analysis.criteria import Criterion
from waitbench.model.metrics import BEYOND, Metric
from waitbench.model.record import ScenarioResults

_FEWEST_CONCURRENT = 2
"""The concurrent rounds that a comparison with interleaved ones needs."""
_LEAST_SHIFT, _CLEAR_SHIFT = math.log(1.15), math.log(2)
"""Changes of log ratios: a smaller one never matters, a larger one does however rounds vary."""

CostPairs = Sequence[tuple[float, float]]
"""Costs of the baseline and of a candidate."""


def mostly_disturbed(disturbed: int, rounds: int) -> bool:
    """Whether too many rounds were disturbed to conclude anything but a failure."""
    return disturbed > rounds / 2


def by_round(
    sides: Iterable[tuple[ScenarioResults, str]], metric: Metric
) -> dict[int, tuple[float, ...]]:
    """The values of several revisions, each in a scenario, in the rounds that all of them have."""
    columns = [
        {
            run.round: run.metrics[metric.key]
            for run in record.of(label)
            if metric.key in run.metrics
        }
        for record, label in sides
    ]
    shared = set(columns[0]).intersection(*columns[1:]) if columns else set()
    return {number: tuple(column[number] for column in columns) for number in sorted(shared)}


def paired_by_round(
    record: ScenarioResults, label: str, metric: Metric
) -> dict[int, tuple[float, float]]:
    """The costs of the baseline and a candidate in the rounds of both; ``BEYOND`` if censored."""
    baseline, candidate = (
        {run.round: cost for run in record.of(side) if (cost := run.cost(metric)) is not None}
        for side in (record.context.labels[0], label)
    )
    shared = sorted(baseline.keys() & candidate.keys())
    return {number: (baseline[number], candidate[number]) for number in shared}


def differing_metric(record: ScenarioResults, criteria: Iterable[Criterion]) -> str:
    """The title of the first metric whose ratios certainly differ between the two kinds of rounds.

    Empty if there is none. If all rounds exceed the allowed cost, a difference is harmless.
    """
    for criterion in criteria:
        metric, margin, allowance = criterion.metric, criterion.margin, criterion.allowance
        is_of_machine = metric.key.startswith("machine_")
        if criterion.limit or is_of_machine or not criterion.scope.covers(record.spec):
            continue
        for label in record.context.labels[1:]:
            interleaved, concurrent = _by_kind(record, label, metric)
            excess = (
                after - before * (1 + margin) - allowance
                for before, after in (*interleaved, *concurrent)
            )
            is_harmless = min(excess, default=0.0) > 0
            if _shift(interleaved, concurrent, allowance) and not is_harmless:
                return metric.title
    return ""


def concurrent_rounds_understate(record: ScenarioResults, label: str, metric: Metric) -> bool:
    """Whether concurrent rounds, for lack of CPUs, show less of a cost that has multiplied."""
    interleaved, concurrent = _by_kind(record, label, metric)
    ratios = (after / before for before, after in interleaved)
    is_multiple = min(ratios, default=0.0) > math.exp(_CLEAR_SHIFT)
    return is_multiple and _shift(interleaved, concurrent, 0.0) > 0


def _by_kind(record: ScenarioResults, label: str, metric: Metric) -> tuple[CostPairs, CostPairs]:
    """The uncensored pairs of interleaved rounds, and of concurrent ones."""
    interleaved, concurrent = list[tuple[float, float]](), list[tuple[float, float]]()
    numbers = record.interleaved_rounds
    for number, costs in paired_by_round(record, label, metric).items():
        if max(costs) < BEYOND:
            before, after = (max(cost, metric.resolution) for cost in costs)
            (interleaved if number in numbers else concurrent).append((before, after))
    return interleaved, concurrent


def _shift(interleaved: CostPairs, concurrent: CostPairs, allowance: float) -> float:
    """How much greater log ratios are in interleaved rounds; 0 if that is not certain.

    It is certain if all of them are greater, or all less, by more than concurrent rounds vary.
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

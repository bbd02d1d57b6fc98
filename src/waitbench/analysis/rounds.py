"""A Record -> the rounds that its figures are based on.

The ratio of a candidate, and the means beside it, use the rounds of both revisions. A disturbed
round is repeated (``execution.session``); one that was disturbed in every attempt counts, too.
"""

from collections.abc import Iterable

from waitbench.model.metrics import Metric
from waitbench.model.record import Record


def mostly_disturbed(disturbed: int, rounds: int) -> bool:
    """Whether too many rounds were disturbed to conclude anything but a failure."""
    return disturbed > rounds / 2


def by_round(sides: Iterable[tuple[Record, str]], metric: Metric) -> dict[int, tuple[float, ...]]:
    """The values of pairs of scenario and revision in the rounds that all have, by number."""
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


def paired_by_round(record: Record, label: str, metric: Metric) -> dict[int, tuple[float, float]]:
    """``(baseline, candidate)`` in the rounds of both, by number; censored costs are ``BEYOND``."""
    baseline, candidate = (
        {run.round: cost for run in record.of(side) if (cost := run.cost(metric)) is not None}
        for side in (record.context.labels[0], label)
    )
    shared = sorted(baseline.keys() & candidate.keys())
    return {number: (baseline[number], candidate[number]) for number in shared}

"""A Record -> the rounds that its figures are of.

A candidate's ratio, and the means beside it, are of the rounds that it and the baseline have. A
round that others disturbed is repeated (``execution.session``); one that was disturbed in every
attempt counts like any other, and it is said how many did. Nothing is concluded from rounds most of
which were disturbed, but that a candidate fails in a gate: see ``mostly_disturbed``.
"""

from collections.abc import Iterable

from waitbench.model.metrics import Metric
from waitbench.model.record import Record


def mostly_disturbed(disturbed: int, rounds: int) -> bool:
    """Whether so many disturbed rounds among all leave nothing to conclude.

    ``system.watch.is_disturbed`` says which are. A candidate can have a part in it by what it
    leaves behind, so an alarm is not muted by it.
    """
    return disturbed > rounds / 2


def by_round(sides: Iterable[tuple[Record, str]], metric: Metric) -> dict[int, tuple[float, ...]]:
    """What revisions, each in its scenario, gave in the rounds that all have, by number."""
    of_each = [
        {
            run.round: run.metrics[metric.key]
            for run in record.of(label)
            if metric.key in run.metrics
        }
        for record, label in sides
    ]
    shared = set(of_each[0]).intersection(*of_each[1:]) if of_each else set()
    return {number: tuple(of[number] for of in of_each) for number in sorted(shared)}


def paired_by_round(record: Record, label: str, metric: Metric) -> dict[int, tuple[float, float]]:
    """``(baseline, candidate)`` of each round that both have, by its number, in order.

    What exceeds its time limit is ``BEYOND``.
    """
    theirs, ours = (
        {run.round: cost for run in record.of(one) if (cost := run.cost(metric)) is not None}
        for one in (record.context.labels[0], label)
    )
    return {number: (theirs[number], ours[number]) for number in sorted(theirs.keys() & ours)}

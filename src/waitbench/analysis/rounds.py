"""A Record -> the rounds that its figures are of.

Every figure of a comparison, mean or ratio, is of the same rounds.
"""

import math
from collections.abc import Sequence

from waitbench.model.metrics import Metric
from waitbench.model.record import Record


def paired_by_round(record: Record, label: str, metric: Metric) -> dict[int, tuple[float, float]]:
    """``(baseline, candidate)`` of each round that both have, by its number, in order."""
    baseline = {run.round: run.metrics for run in record.of(record.context.labels[0])}
    return {
        run.round: (baseline[run.round][metric.key], run.metrics[metric.key])
        for run in record.of(label)
        if metric.key in run.metrics and metric.key in baseline.get(run.round, {})
    }


def all_rounds(record: Record) -> frozenset[int]:
    """The rounds in which anything was measured."""
    return frozenset(run.round for run in record.measurements)


def kept(record: Record) -> tuple[str, ...]:
    """The revisions that figures are shown of: those with at least half of the rounds."""
    rounds = len(all_rounds(record))
    return tuple(one for one in record.context.labels if len(record.of(one)) >= max(1, rounds / 2))


def shared_rounds(record: Record, key: str | None = None) -> frozenset[int]:
    """The rounds that all revisions with figures have; of a metric, all that ever have it.

    A mean of other rounds than those of the ratio beside it could contradict it: the rounds that
    are missing may have been the slow ones.
    """
    of_each = (
        {run.round for run in record.of(label) if key is None or key in run.metrics}
        for label in kept(record)
    )
    rounds = [one for one in of_each if one]
    return frozenset(set.intersection(*rounds)) if rounds else frozenset()


def logs_by_round(records: Sequence[Record], metric: Metric) -> list[tuple[float, ...]]:
    """The logarithm of what each revision cost, for each round that all have, in order of rounds.

    Of several scenarios it is the mean. Rounds in which the machine did something else in every
    attempt are left out, as are those that any revision lacks.
    """
    found = [_logs(record, metric) for record in records]
    shared = set(found[0]).intersection(*found[1:]) if found else set()
    return [
        tuple(math.fsum(logs) / len(found) for logs in zip(*(one[n] for one in found), strict=True))
        for n in sorted(shared)
    ]


def _logs(record: Record, metric: Metric) -> dict[int, tuple[float, ...]]:
    by_label = [
        {run.round: run.metrics[metric.key] for run in record.of(one) if metric.key in run.metrics}
        for one in record.context.labels
    ]
    rounds = set(by_label[0]).intersection(*by_label[1:]) - record.disturbed_rounds
    return {
        number: tuple(math.log(max(of[number], metric.floor)) for of in by_label)
        for number in rounds
    }

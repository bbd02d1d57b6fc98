"""Rounds at once against rounds one run at a time: whether they tell the same of a question.

At once, copies of a worker share pages, caches and CPUs, and may wait for each other's locks, or
answer each other's messages. Caches shift the costs of both sides, so ratios are compared, with the
allowance of the question on both sides.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from waitbench.analysis.criteria import Criterion
from waitbench.analysis.rounds import paired_by_round
from waitbench.model.metrics import BEYOND, Metric
from waitbench.model.record import Record
from waitbench.model.run import SIDE_BY_SIDE

_FEWEST = 2
"""Rounds at once that tell anything."""
_LEAST, _MOST = math.log(1.15), math.log(2)
"""A shift of the logarithm that may matter, and one that does however much rounds at once vary."""

Pairs = Sequence[tuple[float, float]]
"""Costs of the baseline and of a candidate."""


def alone(record: Record) -> frozenset[int]:
    """The rounds whose runs took place one at a time."""
    return record.rounds - {run.round for run in record.measurements if SIDE_BY_SIDE in run.marks}


def differing(record: Record, criteria: Iterable[Criterion]) -> str:
    """The title of the first metric of which rounds one run at a time tell something else.

    Both may exceed by different sizes what the question allows. Empty if all tell the same, so far
    as can be known.
    """
    for criterion in criteria:
        metric, margin, allowance = criterion.metric, criterion.margin, criterion.allowance
        is_of_machine = metric.key.startswith("machine_")
        if criterion.limit or is_of_machine or not criterion.scope.holds(record.spec):
            continue
        for label in record.context.labels[1:]:
            in_turn, at_once = _by_kind(record, label, metric)
            excess = (
                after - before * (1 + margin) - allowance for before, after in (*in_turn, *at_once)
            )
            is_harmless = min(excess, default=0.0) > 0
            if _shift(in_turn, at_once, allowance) and not is_harmless:
                return metric.title
    return ""


def understates(record: Record, label: str, metric: Metric) -> bool:
    """Whether a revision costs a multiple, and rounds at once show less: there it lacks CPUs."""
    in_turn, at_once = _by_kind(record, label, metric)
    ratios = (after / before for before, after in in_turn)
    is_multiple = min(ratios, default=0.0) > math.exp(_MOST)
    return is_multiple and _shift(in_turn, at_once, 0.0) > 0


def _by_kind(record: Record, label: str, metric: Metric) -> tuple[Pairs, Pairs]:
    """The pairs of rounds one run at a time, and of those at once."""
    in_turn, at_once = list[tuple[float, float]](), list[tuple[float, float]]()
    of_turns = alone(record)
    for number, costs in paired_by_round(record, label, metric).items():
        if max(costs) < BEYOND:
            before, after = (max(cost, metric.resolution) for cost in costs)
            (in_turn if number in of_turns else at_once).append((before, after))
    return in_turn, at_once


def _shift(in_turn: Pairs, at_once: Pairs, allowance: float) -> float:
    """By how much the logarithm of ratios is greater one run at a time; 0 if that is not certain.

    It is where all these lie on the same side, beyond what rounds at once vary by.
    """
    if not in_turn or len(at_once) < _FEWEST:
        return 0.0
    logs_in_turn, logs_at_once = (
        [math.log((after + allowance) / (before + allowance)) for before, after in pairs]
        for pairs in (in_turn, at_once)
    )
    centre = median(logs_at_once)
    noise = min(max(_LEAST, 2 * max(abs(log - centre) for log in logs_at_once)), _MOST)
    shifts = [log - centre for log in logs_in_turn]
    is_certain = min(shifts) > noise or max(shifts) < -noise
    return median(shifts) if is_certain else 0.0

"""The records of a scan -> a curve of each revision: what it costs at each value, and its line.

C is what a worker costs, R what each further input adds: the line C + N·R, or none where a value is
certainly off it. Costs span orders of magnitude and vary by a share of themselves, so errors are
relative: weighted least squares, with the inverse square of the cost as the weight. Each round in
which a revision has all of its values has a line of its own, so that what the machine did to a
whole round is not taken for precision.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from waitbench.analysis.rounds import by_round
from waitbench.analysis.statistics import CONFIDENCE, geometric_mean, log_ratios, mean, t_quantile
from waitbench.model.estimate import Estimate
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.record import Record
from waitbench.model.scan import SILENCE

COST = BY_NAME["share"]
"""What a curve is of: CPU seconds per second of waiting, so that windows may differ."""
LATENESS = BY_NAME["latency-p50"]
"""How late a worker answered, where something wakes it up."""
TOLERANCE = 0.15
"""A mean may be off the line by this share before the line is refused; twice that of one round."""
FEWEST = 3
"""Values that a line is fitted to."""
_LEAST = 1e-9
"""Cores, and cores an input, below which a cost or a slope counts as none."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One revision over all values; without a line where none fits, or it is not known."""

    label: str
    costs: Mapping[float, Estimate]
    """The mean at each value that was measured, in cores."""
    lateness: Mapping[float, Estimate]
    """The mean at each value at which it answered, in seconds."""
    constant: Estimate | None
    """C, in cores."""
    slope: Estimate | None
    """R, in cores an input."""
    slope_ratio: Estimate | None
    """R to the baseline's, in the rounds in which both have a line."""
    off_at: float | None
    """The value whose cost is farthest off a line, if the costs are on none."""


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """All revisions over all values of one scan."""

    scenario: str
    parameter: str
    values: tuple[float, ...]
    rounds: int
    curves: tuple[Curve, ...]
    """The baseline first."""


def scans(records: Iterable[Record]) -> list[Scanned]:
    """Every scan among the records of a comparison."""
    found: dict[tuple[str, str], dict[float, Record]] = {}
    for record in records:
        if record.scan is not None:
            found.setdefault(record.scan.curve, {})[record.scan.value] = record
    return [_scanned(curve, dict(sorted(of_curve.items()))) for curve, of_curve in found.items()]


def _scanned(curve: tuple[str, str], records: Mapping[float, Record]) -> Scanned:
    scenario, parameter = curve
    curves: list[Curve] = []
    of_baseline: Mapping[int, tuple[float, float]] = {}
    for label in next(iter(records.values())).context.labels:
        costs, late = (_means(records, label, one) for one in (COST, LATENESS))
        values = [*costs]
        rounds = by_round([(records[value], label) for value in values], COST)
        is_enough = len(values) >= FEWEST and bool(rounds) and parameter != SILENCE
        off_at = off_line(values, [*rounds.values()]) if is_enough else None
        is_line = is_enough and off_at is None
        lines = {number: fit(values, own) for number, own in rounds.items()} if is_line else {}
        slopes = [(of_baseline[one][0], lines[one][0]) for one in of_baseline if one in lines]
        of_baseline = of_baseline if curves else lines
        curves.append(
            Curve(
                label=label,
                costs=costs,
                lateness=late,
                constant=_mean([constant for _, constant in lines.values()], least=0.0),
                slope=_mean([slope for slope, _ in lines.values()]),
                slope_ratio=geometric_mean(log_ratios(slopes, _LEAST)) if slopes else None,
                off_at=off_at,
            )
        )
    return Scanned(
        scenario=scenario,
        parameter=parameter,
        values=tuple(records),
        rounds=max(len(record.rounds) for record in records.values()),
        curves=tuple(curves),
    )


def _means(records: Mapping[float, Record], label: str, metric: Metric) -> dict[float, Estimate]:
    """Of each value at which anything was measured."""
    runs = {
        value: [run.metrics[metric.key] for run in record.of(label) if metric.key in run.metrics]
        for value, record in records.items()
    }
    return {value: mean(found) for value, found in runs.items() if found}


def _mean(values: Sequence[float], least: float = -math.inf) -> Estimate | None:
    return mean(values, least) if values else None


def fit(values: Sequence[float], costs: Sequence[float]) -> tuple[float, float]:
    """The slope and the constant of the line through some costs, by relative errors.

    No worker costs less than nothing: a line that would is the best one through the origin.
    """
    # Here, not above: no error message should wait for it.
    import numpy as np

    weights = 1 / np.maximum(costs, _LEAST)
    slope, constant = np.polyfit(values, costs, 1, w=weights)
    if constant < 0:
        scaled, wanted = np.array(values) * weights, np.array(costs) * weights
        slope, constant = scaled @ wanted / (scaled @ scaled), 0.0
    return float(slope), float(constant)


def off_line(values: Sequence[float], rounds: Sequence[Sequence[float]]) -> float | None:
    """The value whose mean is farthest off a line, if it is certainly off by ``TOLERANCE``.

    Certainly: with all but the error of a 95 % interval for all values together (Bonferroni). Of
    one round the error is not known, and the tolerance is doubled.
    """
    import numpy as np

    costs = np.array(rounds)
    means = costs.mean(axis=0)
    # A line may go below zero where it does not fit.
    least = np.maximum(means / 4, _LEAST)
    fitted = np.maximum(np.polyval(fit(values, means), values), least)
    off = np.where(means > 0, abs(means / fitted - 1), 0.0)
    allowed = 2 * TOLERANCE
    if len(rounds) > 1:
        # Rounds differ as wholes: the level of each is taken out.
        shares = costs / np.maximum(means, _LEAST) - 1
        shares -= shares.mean(axis=1, keepdims=True)
        freedom = (len(rounds) - 1) * (len(values) - 1)
        quantile = t_quantile(1 - (1 - CONFIDENCE) / 2 / len(values), freedom)
        allowed = TOLERANCE + quantile * math.sqrt((shares**2).sum() / freedom / len(rounds))
    return values[int(off.argmax())] if off.max() > allowed else None

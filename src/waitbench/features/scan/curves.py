"""Computes the curve of each revision from the records of a scan: costs, and a line through them.

The line is C + N·R: C is the constant cost of a worker, R the cost of each of N inputs. If the cost
at one of the values of N is certainly off it, a revision has no line. Costs span orders of
magnitude, so errors are relative: the fit is weighted by the inverse square of the cost. Each
complete round has its own line, so that drift between rounds appears as variance.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from waitbench.analysis.rounds import by_round
from waitbench.analysis.statistics import CONFIDENCE, geometric_mean, log_ratios, mean, t_quantile
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.verdicts import Estimate

COST = BY_NAME["share"]
"""CPU per second of waiting, so that windows of different lengths can be compared."""
LATENESS = BY_NAME["latency-p50"]
TOLERANCE = 0.15
"""The share by which a mean may be off the line; twice that with a single round."""
FEWEST = 3
"""The fewest values of a curve, because two are always on a line."""
_LEAST = 1e-9
"""The least cost, in cores, and slope, in cores per input; lower ones count as this one."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The costs of a revision at all values, with their line if there is one."""

    label: str
    costs: Mapping[float, Estimate]
    """Mean cost at each value, in cores."""
    lateness: Mapping[float, Estimate]
    """Mean lateness at each value, in seconds."""
    constant: Estimate | None
    """C, in cores."""
    slope: Estimate | None
    """R, in cores per input."""
    slope_ratio: Estimate | None
    """R relative to that of the baseline, from the rounds in which both have a line."""
    off_at: float | None
    """The value whose cost is certainly off the line, if there is one."""


@dataclass(frozen=True, kw_only=True)
class ScanCurves:
    """The curves of all revisions over the values of one parameter."""

    scenario: str
    parameter: str
    values: tuple[float, ...]
    rounds: int
    curves: tuple[Curve, ...]


def scans(records: Iterable[ScenarioResults]) -> list[ScanCurves]:
    """The curves of all scans among some records."""
    curves: dict[tuple[str, str], dict[float, ScenarioResults]] = {}
    for record in records:
        if point := record.spec.scan:
            curves.setdefault(point.curve, {})[point.value] = record
    return [_curves_of(key, dict(sorted(by_value.items()))) for key, by_value in curves.items()]


def _curves_of(key: tuple[str, str], records: Mapping[float, ScenarioResults]) -> ScanCurves:
    """The curves of a scan, given its scenario and parameter, and its records by value."""
    scenario, parameter = key
    curves: list[Curve] = []
    baseline: Mapping[int, tuple[float, float]] = {}
    for label in next(iter(records.values())).context.labels:
        costs, late = (_means(records, label, metric) for metric in (COST, LATENESS))
        values = [*costs]
        rounds = by_round([(records[value], label) for value in values], COST)
        is_enough = len(values) >= FEWEST and bool(rounds)
        off_at = off_line(values, [*rounds.values()]) if is_enough else None
        is_line = is_enough and off_at is None
        lines = {number: fit(values, row) for number, row in rounds.items()} if is_line else {}
        slopes = [(baseline[number][0], lines[number][0]) for number in baseline if number in lines]
        baseline = baseline if curves else lines
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
    return ScanCurves(
        scenario=scenario,
        parameter=parameter,
        values=tuple(records),
        rounds=max(len(record.rounds) for record in records.values()),
        curves=tuple(curves),
    )


def _means(
    records: Mapping[float, ScenarioResults], label: str, metric: Metric
) -> dict[float, Estimate]:
    means = {}
    for value, record in records.items():
        figures = [it.metrics[metric.key] for it in record.of(label) if metric.key in it.metrics]
        if figures:
            means[value] = mean(figures)
    return means


def _mean(values: Sequence[float], least: float = -math.inf) -> Estimate | None:
    return mean(values, least) if values else None


def fit(values: Sequence[float], costs: Sequence[float]) -> tuple[float, float]:
    """The slope and the constant, at least 0, of the line with the least relative errors."""
    import numpy as np

    weights = 1 / np.maximum(costs, _LEAST)
    slope, constant = np.polyfit(values, costs, 1, w=weights)
    if constant < 0:
        x, y = np.array(values) * weights, np.array(costs) * weights
        slope, constant = x @ y / (x @ x), 0.0
    return float(slope), float(constant)


def off_line(values: Sequence[float], rounds: Sequence[Sequence[float]]) -> float | None:
    """The value whose mean is farthest off the line, if certainly by more than ``TOLERANCE``.

    The 95 % intervals hold for all values together (Bonferroni). A single round has no error
    estimate, so twice the tolerance is allowed.
    """
    import numpy as np

    costs = np.array(rounds)
    means = costs.mean(axis=0)
    # A bad fit can be near or below zero, so a quarter of the mean is its floor in the ratio.
    least = np.maximum(means / 4, _LEAST)
    fitted = np.maximum(np.polyval(fit(values, means), values), least)
    off = np.where(means > 0, abs(means / fitted - 1), 0.0)
    allowed = 2 * TOLERANCE
    if len(rounds) > 1:
        # The level of a whole round is no error of a single value, so it is subtracted.
        shares = costs / np.maximum(means, _LEAST) - 1
        shares -= shares.mean(axis=1, keepdims=True)
        freedom = (len(rounds) - 1) * (len(values) - 1)
        quantile = t_quantile(1 - (1 - CONFIDENCE) / 2 / len(values), freedom)
        allowed = TOLERANCE + quantile * math.sqrt((shares**2).sum() / freedom / len(rounds))
    return values[int(off.argmax())] if off.max() > allowed else None

"""The records of a scan -> a curve of each revision: what it costs at each value, and its line.

C is what a worker costs, R what each further input adds: the line C + N·R, or none where a value is
certainly off it. Costs span orders of magnitude and vary by a share of themselves, so errors are
relative: weighted least squares, with the inverse square of the fitted cost as the weight (R.
Carroll and D. Ruppert, "Transformation and Weighting in Regression", 1988, chapter 2: generalized
least squares, one step from the weights of the data). Each round in which a revision has all of its
values has a line of its own, so that what the machine did to a whole round is not taken for
precision.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from waitbench.analysis.rounds import all_rounds, by_round
from waitbench.analysis.statistics import (
    CONFIDENCE,
    Estimate,
    geometric_mean,
    log_ratios,
    mean,
    t_quantile,
)
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record

COST = BY_NAME["share"]
"""What a curve is of: CPU seconds per second of waiting, so that windows may differ."""
TOLERANCE = 0.15
"""A mean may be off the line by this share before the line is refused."""
_UNTESTED_TOLERANCE = 0.30
"""The same where there is one round only, and chance is not known."""
FEWEST = 3
"""Values that a line is fitted to."""
_LEAST_SLOPE = 1e-9
"""Cores an input, below which a slope counts as none, as next to nothing does in ratios."""
_SMALLEST = 1e-9


@dataclass(frozen=True)
class Line:
    """The cost C + N·R."""

    constant: float
    """C, in the unit of the costs."""
    slope: float
    """R, the same for each further N."""

    def at(self, value: float) -> float:
        """The cost at a value."""
        return self.constant + self.slope * value


@dataclass(frozen=True)
class Misfit:
    """Where a mean is farthest off the line."""

    value: float
    off: float
    """By which share of the line's cost the mean is off."""


def fit(values: Sequence[float], costs: Sequence[float]) -> Line:
    """The line through the costs of one round, by relative errors."""
    # Here, not above: no error message should wait for it.
    import numpy as np

    line, scales = Line(0.0, 0.0), list(costs)
    for _ in range(2):
        slope, constant = np.polyfit(values, costs, 1, w=1 / np.maximum(scales, _SMALLEST))
        line = Line(float(constant), float(slope))
        # A mean far above the line must not weigh next to nothing.
        scales = [max(line.at(value), cost / 2) for value, cost in zip(values, costs, strict=True)]
    return line


def misfit(values: Sequence[float], rounds: Sequence[Sequence[float]]) -> Misfit | None:
    """Where the mean of some rounds is certainly more than ``TOLERANCE`` off their line, if it is.

    Certainly: with all but the error of a 95 % interval for all values together (Bonferroni). Of
    one round the error is not known, and the tolerance is doubled. Raises ``ValueError`` for fewer
    than three values, or no round.
    """
    import numpy as np

    if len(values) < FEWEST or not rounds:
        raise ValueError("A line takes three values and a round.")
    costs = np.array(rounds)
    means = costs.mean(axis=0)
    line = fit(values, means)
    # A line may go below zero where it does not fit.
    fitted = np.maximum([line.at(value) for value in values], np.maximum(means / 4, _SMALLEST))
    off = np.where(means > 0, means / fitted - 1, 0.0)
    allowed = _UNTESTED_TOLERANCE
    if len(rounds) > 1:
        # Rounds differ as wholes: the level of each is taken out.
        shares = costs / np.maximum(means, _SMALLEST) - 1
        shares -= shares.mean(axis=1, keepdims=True)
        freedom = (len(rounds) - 1) * (len(values) - 1)
        quantile = t_quantile(1 - (1 - CONFIDENCE) / 2 / len(values), freedom)
        allowed = TOLERANCE + quantile * math.sqrt((shares**2).sum() / freedom / len(rounds))
    place = int(abs(off).argmax())
    return Misfit(values[place], float(off[place])) if abs(off[place]) > allowed else None


@dataclass(frozen=True, kw_only=True)
class PointOfCurve:
    """What a revision costs at one value."""

    value: float
    runs: tuple[float, ...]
    """The cores of each run."""
    cost: Estimate | None
    """Their mean; ``None`` where it was not measured."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One revision over all values; without a line where none fits, or it is not known."""

    label: str
    points: tuple[PointOfCurve, ...]
    constant: Estimate | None
    """C, in cores."""
    slope: Estimate | None
    """R, in cores an input."""
    slope_ratio: Estimate | None
    """R to the baseline's, in the rounds in which both have a line."""
    misfit: Misfit | None
    """Where the costs are off a line, if they are on none."""


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """All revisions over all values of one scan."""

    scenario: str
    parameter: str
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
    first, *_ = records.values()
    curves: list[Curve] = []
    baseline: Mapping[int, Line] | None = None
    for label in first.context.labels:
        points = [_point(label, *each) for each in records.items()]
        values = [point.value for point in points if point.cost is not None]
        costs = by_round([(records[value], label) for value in values], COST)
        is_enough = len(values) >= FEWEST and bool(costs)
        off = misfit(values, list(costs.values())) if is_enough else None
        # Each round in which the revision has all of its values has a line.
        is_line = is_enough and off is None
        lines = {number: fit(values, own) for number, own in costs.items()} if is_line else {}
        curves.append(
            Curve(
                label=label,
                points=tuple(points),
                constant=_mean([line.constant for line in lines.values()]),
                slope=_mean([line.slope for line in lines.values()]),
                slope_ratio=None if baseline is None else _slope_ratio(baseline, lines),
                misfit=off,
            )
        )
        baseline = lines if baseline is None else baseline
    return Scanned(
        scenario=scenario,
        parameter=parameter,
        rounds=max(len(all_rounds(record)) for record in records.values()),
        curves=tuple(curves),
    )


def _point(label: str, value: float, record: Record) -> PointOfCurve:
    costs = [run.metrics[COST.key] for run in record.of(label) if COST.key in run.metrics]
    return PointOfCurve(value=value, runs=tuple(costs), cost=mean(costs) if costs else None)


def _mean(values: Sequence[float]) -> Estimate | None:
    return mean(values, least=-math.inf) if values else None


def _slope_ratio(baseline: Mapping[int, Line], lines: Mapping[int, Line]) -> Estimate | None:
    shared = [
        (baseline[number].slope, lines[number].slope) for number in baseline if number in lines
    ]
    return geometric_mean(log_ratios(shared, _LEAST_SLOPE)) if shared else None

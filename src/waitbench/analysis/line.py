"""Fits the line C + N·R to what a worker costs at several values, or finds that it is not a line.

Costs span orders of magnitude and vary by a share of themselves, so errors are relative: weighted
least squares, with the inverse square of the fitted cost as the weight (R. Carroll and D. Ruppert,
"Transformation and Weighting in Regression", 1988, chapter 2: generalized least squares, one step
from the weights of the data). Each round has a line of its own, so that what the machine did to a
whole round is not taken for precision.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.analysis.distributions import t_quantile

TOLERANCE = 0.15
"""A mean may be off the line by this share before the line is refused."""
_UNTESTED_TOLERANCE = 0.30
"""The same where there is one round only, and chance is not known."""
FEWEST = 3
"""Values that a line is fitted to."""
_SMALLEST = 1e-9
_CONFIDENCE = 0.95

Costs = Sequence[float]
"""One cost at each value."""


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

    place: int
    """The place of the value."""
    off: float
    """By which share of the line's cost the mean is off."""


def fit(values: Sequence[float], costs: Costs) -> Line:
    """The line through the costs of one round, by relative errors."""
    first = _weighted(values, costs, costs)
    # A mean far above the line must not weigh next to nothing.
    scales = [max(first.at(value), cost / 2) for value, cost in zip(values, costs, strict=True)]
    return _weighted(values, costs, scales)


def misfit(values: Sequence[float], rounds: Sequence[Costs]) -> Misfit | None:
    """Where the mean of some rounds is certainly more than ``TOLERANCE`` off their line, if it is.

    Certainly: with all but the error of a 95 % interval for all values together (Bonferroni). Of
    one round the error is not known, and the tolerance is doubled. Raises ``ValueError`` for fewer
    than three values, or no round.
    """
    if len(values) < FEWEST or not rounds:
        raise ValueError("A line takes three values and a round.")
    means = [math.fsum(costs) / len(rounds) for costs in zip(*rounds, strict=True)]
    line = fit(values, means)
    # A line may go below zero where it does not fit.
    off = [
        cost / max(line.at(value), cost / 4, _SMALLEST) - 1 if cost > 0 else 0.0
        for value, cost in zip(values, means, strict=True)
    ]
    place = max(range(len(off)), key=lambda one: abs(off[one]))
    allowed = TOLERANCE + _half_width(rounds, means) if len(rounds) > 1 else _UNTESTED_TOLERANCE
    return Misfit(place, off[place]) if abs(off[place]) > allowed else None


def _half_width(rounds: Sequence[Costs], means: Costs) -> float:
    """Half of the interval of a mean, as a share of it: one relative error for all values."""
    # Rounds differ as wholes: the level of each is taken out.
    shares = [
        [cost / max(of, _SMALLEST) - 1 for cost, of in zip(one, means, strict=True)]
        for one in rounds
    ]
    levels = [math.fsum(one) / len(one) for one in shares]
    squares = math.fsum(
        (share - level) ** 2 for one, level in zip(shares, levels, strict=True) for share in one
    )
    freedom = (len(rounds) - 1) * (len(means) - 1)
    quantile = t_quantile(1 - (1 - _CONFIDENCE) / 2 / len(means), freedom)
    return quantile * math.sqrt(squares / freedom / len(rounds))


def _weighted(values: Sequence[float], costs: Costs, scales: Sequence[float]) -> Line:
    """The line of least squares, each cost in units of its scale."""
    # Here, not above: no error message should wait for it.
    import numpy as np

    weights = 1 / np.maximum(np.asarray(scales, dtype=float), _SMALLEST)
    slope, constant = np.polyfit(values, costs, 1, w=weights)
    return Line(float(constant), float(slope))

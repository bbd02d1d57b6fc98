"""The location of a sample, with exact bounds for any symmetric distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DIGITS = 12
"""Digits of logarithms, so that values that differ by rounding are ties."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A location and its one-sided bounds, which are infinite for too few values."""

    centre: float
    low: float
    high: float


def hodges_lehmann(values: Floats, error_low: float, error_high: float) -> Interval:
    """The median of all means of two values, with bounds that invert the signed-rank test.

    The test is F. Wilcoxon's ("Individual comparisons by ranking methods", Biometrics Bulletin 1,
    1945), the inversion J. Hodges' and E. Lehmann's ("Estimates of location based on rank tests",
    Annals of Mathematical Statistics 34, 1963), so that bounds and test agree.

    For values that are symmetric about the truth, it lies below ``low`` with a chance of at most
    ``error_low``, above ``high`` of ``error_high``. Takes at least one value, in any shape.
    """
    import numpy as np

    values = np.ravel(values).astype(float)
    first, second = np.triu_indices(values.size)
    means = np.sort(np.round((values[first] + values[second]) / 2, _DIGITS))
    below, above = (_beyond(values.size, error) for error in (error_low, error_high))
    return Interval(
        centre=float(np.median(means)),
        low=float(means[below - 1]) if below else -math.inf,
        high=float(means[-above]) if above else math.inf,
    )


@lru_cache(maxsize=1000)
def _beyond(count: int, error: float) -> int:
    """The number of means of two values beyond a bound with this error.

    The number of means above a location is the sum of the ranks of the values above it (J. Tukey).
    At the truth a fair coin decides about each rank; breaking ties changes no mean.
    """
    import numpy as np

    chances = np.ones(1)
    for rank in range(1, count + 1):
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return int(np.searchsorted(np.cumsum(chances), error, side="right"))

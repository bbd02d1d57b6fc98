"""Bounds on a ratio that hold however often one looks, and whenever one stops.

Looking at an ordinary 95 % interval after each round, and stopping when it says what one waits for,
is wrong far more often than 5 % of the time. Here the error is spent in parts, decided beforehand
(K. Lan and D. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70, 1983):
there is a fixed list of looks, every look at every hypothesis has an equal share of the allowed
error, and by Bonferroni's inequality the chance that any look at any hypothesis errs is at most
their sum. That needs nothing of how the looks depend on each other.

A bound at one look is Yuen's for the trimmed mean (K. Yuen, "The two-sample trimmed t for unequal
population variances", Biometrika 61, 1974; Student's t as long as nothing is trimmed) on the
logarithms of the paired ratios. Trimming makes a single disturbed round count for little.
docs/statistics.md explains all this without formulas.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.analysis.distributions import t_quantile

ALPHA = 0.05
"""Allowed chance that a comparison without any regression fails at all.

Also, that a real one is called none.
"""

LOOKS = (3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 65, 80, 100)
"""Numbers of rounds after which one looks.

Further apart as they grow: each look costs error, and adds little later.
"""

FEWEST_ROUNDS = LOOKS[0]

_TRIM_FROM = 8
_TRIM_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The centre of the logarithms of some ratios, and one-sided bounds.

    The truth lies beyond each with at most the chance that they were asked for.
    """

    centre: float
    low: float
    high: float
    standard_error: float

    def half_width_after(self, rounds: int, of: int, error: float) -> float:
        """Half the distance of the bounds after ``of`` rounds, if noise stays as it is."""
        shrunk = self.standard_error * math.sqrt(rounds / of)
        return shrunk * t_quantile(1 - error, max(1, of - 2 * _cut(of) - 1))


def looks_until(most_rounds: int) -> tuple[int, ...]:
    """The looks of a comparison of at most so many rounds; the last is at the end."""
    return (*(look for look in LOOKS if look < most_rounds), most_rounds)


def level(hypotheses: int, looks: int) -> float:
    """The error that one bound of one hypothesis at one look may have."""
    return ALPHA / hypotheses / looks


def bounds(logs: Sequence[float], error: float) -> Bounds:
    """Bounds from at least two logarithms of paired ratios.

    Each side is wrong with a chance of at most ``error``.
    """
    ordered = sorted(logs)
    count = len(ordered)
    cut = _cut(count)
    kept = ordered[cut : count - cut]
    centre = math.fsum(kept) / len(kept)
    # Winsorised: what was cut counts as the outermost that was kept.
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    middle = math.fsum(winsorised) / count
    squares = math.fsum((value - middle) ** 2 for value in winsorised)
    standard_error = math.sqrt(squares / (len(kept) * (len(kept) - 1)))
    half = standard_error * t_quantile(1 - error, len(kept) - 1)
    return Bounds(
        centre=centre, low=centre - half, high=centre + half, standard_error=standard_error
    )


def _cut(count: int) -> int:
    """How many of so many values are cut at each end."""
    return max(1, math.floor(_TRIM_SHARE * count)) if count >= _TRIM_FROM else 0

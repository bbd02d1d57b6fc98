"""Which rise a gate finds, by how much rounds differ."""

import math

from waitbench.analysis.distributions import noncentral_t_above, t_quantile

POWER = 0.95


def detectable_change(spread: float, rounds: int, margin: float, error: float) -> float:
    """The smallest ratio found slower with a chance of ``POWER`` at a look after so many rounds.

    ``spread`` is the standard deviation of the logarithm of one round's ratio. The bound lies above
    the margin when a noncentral t variable exceeds its critical value; the noncentrality that gives
    the power is found by bisection.
    """
    critical = t_quantile(1 - error, rounds - 1)
    low, high = 0.0, critical + 10 * math.sqrt(1 + critical**2)
    for _ in range(60):
        middle = (low + high) / 2
        if noncentral_t_above(critical, rounds - 1, middle) < POWER:
            low = middle
        else:
            high = middle
    return math.exp(math.log1p(margin) + high * spread / math.sqrt(rounds))

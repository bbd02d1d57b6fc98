"""Quantiles of the distributions that the project needs, out of ``scipy.special``.

``scipy.stats`` has the same and takes most of a second to import; even ``scipy.special`` is
imported where it is used, so that no error message waits for it.
"""

import math


def t_quantile(share: float, freedom: float) -> float:
    """Student's t: the value below which a share lies, with so many degrees of freedom."""
    from scipy import special

    return float(special.stdtrit(freedom, share))


def t_above(value: float, freedom: float) -> float:
    """The chance that Student's t, with so many degrees of freedom, exceeds ``value``."""
    from scipy import special

    return float(special.stdtr(freedom, -value))


def noncentral_t_above(value: float, freedom: int, noncentrality: float) -> float:
    """The chance that a noncentral t variable exceeds ``value``."""
    from scipy import special

    return 1 - float(special.nctdtr(freedom, noncentrality, value))


def rate_interval(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """The exact interval of a rate that gave ``hits`` in ``trials``.

    C. Clopper and E. Pearson, "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 26, 1934: the rates at which so many hits, or so few, would be just
    too rare.
    """
    from scipy import special

    rare = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(special.betaincinv(hits, trials - hits + 1, rare))
    high = 1.0 if hits == trials else float(special.betaincinv(hits + 1, trials - hits, 1 - rare))
    return low, high


def rate_rise_at_most(hits: int, of_baseline: int, trials: int, error: float) -> float:
    """By how much a rate lies above another's at most, of so many trials each.

    R. Newcombe, "Interval estimation for the difference between independent proportions: comparison
    of eleven methods", Statistics in Medicine 17, 1998, method 10, with exact limits of each rate.
    Where the other has no hits it is the exact upper limit of the first.
    """
    ours, theirs = hits / trials, of_baseline / trials
    _, high = rate_interval(hits, trials, 1 - 2 * error)
    low, _ = rate_interval(of_baseline, trials, 1 - 2 * error)
    return ours - theirs + math.hypot(high - ours, theirs - low)

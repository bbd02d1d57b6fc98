"""Quantiles of the distributions that the project needs, out of ``scipy.special``.

``scipy.stats`` has the same and takes most of a second to import; even ``scipy.special`` is
imported where it is used, so that no error message waits for it.
"""


def t_quantile(share: float, freedom: float) -> float:
    """Student's t: the value below which a share lies, with so many degrees of freedom."""
    from scipy import special

    return float(special.stdtrit(freedom, share))


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

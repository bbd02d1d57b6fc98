"""Quantiles of distributions, against those of ``scipy.stats``."""

import pytest
from scipy import stats

from waitbench.analysis import distributions


def exactly(expected: object) -> object:
    return pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("share", [0.9, 0.975, 1 - 0.05 / 16 / 13, 1 - 1e-6])
@pytest.mark.parametrize("freedom", [1, 2, 4, 30, 99])
def test_quantiles_of_t_are_those_of_scipy(share: float, freedom: int) -> None:
    expected = exactly(stats.t.ppf(share, freedom))
    assert distributions.t_quantile(share, freedom) == expected


@pytest.mark.parametrize("hits", [0, 1, 7, 39, 40])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_intervals_of_a_rate_are_the_exact_ones_of_scipy(hits: int, confidence: float) -> None:
    expected = stats.binomtest(hits, 40).proportion_ci(confidence, method="exact")
    found = distributions.rate_interval(hits, 40, confidence)
    assert found == exactly((expected.low, expected.high))

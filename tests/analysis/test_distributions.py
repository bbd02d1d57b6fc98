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


@pytest.mark.parametrize(("value", "freedom"), [(2.1, 2), (5.0, 4), (3.5, 19)])
@pytest.mark.parametrize("noncentrality", [0.0, 1.0, 4.5, 12.0])
def test_chances_of_noncentral_t_are_those_of_scipy(
    value: float, freedom: int, noncentrality: float
) -> None:
    expected = exactly(stats.nct.sf(value, freedom, noncentrality))
    assert distributions.noncentral_t_above(value, freedom, noncentrality) == expected


@pytest.mark.parametrize("hits", [0, 1, 7, 39, 40])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_intervals_of_a_rate_are_the_exact_ones_of_scipy(hits: int, confidence: float) -> None:
    expected = stats.binomtest(hits, 40).proportion_ci(confidence, method="exact")
    found = distributions.rate_interval(hits, 40, confidence)
    assert found == exactly((expected.low, expected.high))


@pytest.mark.parametrize("hits", [0, 3, 16])
def test_the_rise_of_a_rate_from_none_has_its_exact_limit(hits: int) -> None:
    (_, high) = stats.binomtest(hits, 16).proportion_ci(0.9, method="exact")
    assert distributions.rate_rise_at_most(hits, 0, 16, 0.05) == exactly(high)


@pytest.mark.parametrize(("ours", "theirs"), [(0.25, 0.05), (0.3, 0.1), (0.6, 0.4), (0.9, 0.7)])
def test_the_rise_of_a_rate_is_seldom_above_its_limit(ours: float, theirs: float) -> None:
    rates = [stats.binom.pmf(range(31), 30, rate) for rate in (ours, theirs)]
    missed = sum(
        rates[0][a] * rates[1][b]
        for a in range(31)
        for b in range(31)
        if distributions.rate_rise_at_most(a, b, 30, 0.05) < ours - theirs
    )
    assert 0.005 < missed <= 0.05

"""The rule: its chances are those of scipy, and of counting all signs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from numpy.typing import ArrayLike
from scipy.stats import binomtest, multinomial, rankdata, wilcoxon

from waitbench.analysis import rule
from waitbench.analysis.verdicts import Verdict

DISTINCT = some.lists(
    some.floats(0.001, 10), min_size=1, max_size=20, unique_by=lambda x: round(x, 6)
).flatmap(
    lambda sizes: some.tuples(*(some.sampled_from((size, -size)) for size in sizes)).map(np.array)
)
TIED = some.lists(some.integers(-3, 3), min_size=1, max_size=9).map(np.array)
ERRORS = some.sampled_from((0.0005, 0.01, 0.05, 0.2))


@given(DISTINCT)
def test_the_chance_is_that_of_scipy_without_ties(values: np.ndarray) -> None:
    expected = wilcoxon(values, alternative="greater", method="exact").pvalue
    assert rule.chance_above(values) == pytest.approx(expected)


@given(TIED)
def test_the_chance_is_that_of_all_signs_with_ties_and_zeros(values: np.ndarray) -> None:
    ranks = rankdata(np.abs(values))
    free = ranks[values != 0]
    signs = itertools.product((0, 1), repeat=len(free))
    sums = [float(np.dot(one, free)) for one in signs]
    observed = ranks[values > 0].sum()
    expected = np.mean([one >= observed for one in sums])
    assert rule.chance_above(values) == pytest.approx(expected)


@given(DISTINCT, ERRORS)
def test_the_bounds_are_where_the_test_of_scipy_turns(values: np.ndarray, error: float) -> None:
    found = rule.hodges_lehmann(values, error, error)

    def chance(location: float, alternative: str) -> float:
        moved = values - location
        return float(wilcoxon(moved, alternative=alternative, method="exact").pvalue)

    if math.isinf(found.low):
        assert 0.5 ** len(values) > error
        return
    assert chance(found.low - 1e-9, "greater") <= error < chance(found.low + 1e-9, "greater")
    assert chance(found.high + 1e-9, "less") <= error < chance(found.high - 1e-9, "less")
    assert found.low <= found.centre <= found.high


@given(TIED, ERRORS)
def test_no_location_outside_of_the_bounds_is_likely(values: np.ndarray, error: float) -> None:
    found = rule.hodges_lehmann(values, error, error)
    below, above = found.low - 0.01, found.high + 0.01
    assert math.isinf(below) or rule.chance_above(values - below) <= error
    assert math.isinf(above) or rule.chance_above(above - values) <= error


@given(TIED)
def test_bounds_turn_with_the_signs_of_the_values(values: np.ndarray) -> None:
    found, turned = (rule.hodges_lehmann(one, 0.05, 0.05) for one in (values, -values))
    assert (turned.low, turned.high) == (-found.high, -found.low)
    assert turned.centre == pytest.approx(-found.centre)


@given(some.integers(0, 60), some.integers(0, 60))
def test_coins_are_those_of_scipy(hits: int, others: int) -> None:
    trials = hits + others
    if trials:
        found = binomtest(hits, trials, 0.5, alternative="greater")
        assert rule.chance_of_heads(hits, trials) == pytest.approx(found.pvalue)


def rounds(logs: ArrayLike, count: int = 30, scenarios: int = 2) -> rule.Floats:
    """Costs of 1, and of the candidate by these logarithms, with a little noise."""
    noise = np.random.default_rng(1).normal(0, 0.03, (count, scenarios, 2))
    noise[..., 1] += np.broadcast_to(logs, noise[..., 1].shape)
    found: rule.Floats = np.exp(noise)
    return found


def judge(pairs: rule.Floats, margin: float = 0.1, floor: float = 0.0) -> rule.Finding:
    share = rule.Share(looks=rule.looks_of(pairs.shape[1]), questions=14, about_dear=4)
    found = rule.judge(pairs, margin=margin, floor=floor, share=share)
    assert found is not None
    return found


def test_bounds_do_not_cross_though_costs_drift() -> None:
    fell = rounds(np.where(np.arange(30)[:, None] < 15, math.log(0.9), math.log(0.6)))
    found = judge(fell[::-1])
    assert found.low is not None
    assert found.high is not None
    assert found.ratio is not None
    assert found.low <= found.ratio <= found.high


def test_what_did_not_change_is_within_its_margin() -> None:
    assert judge(rounds(0.0)).verdict is Verdict.WITHIN_MARGIN


def test_a_rise_beyond_the_margin_fails_at_the_first_look() -> None:
    found = judge(rounds(math.log(1.3)))
    assert (found.verdict, found.rounds) == (Verdict.SLOWER, 6)
    assert found.low is not None
    assert found.low > 1.1


def test_nothing_is_said_before_the_first_look() -> None:
    pairs = rounds(1.0)
    share = rule.Share(looks=rule.looks_of(2), questions=1)
    assert rule.judge(pairs[:5], margin=0.1, floor=0, share=share) is None
    share = rule.Share(looks=rule.looks_of(1), questions=1)
    assert rule.judge(pairs[:9, :1], margin=0.1, floor=0, share=share) is None


def test_what_a_wide_margin_allows_is_not_dear() -> None:
    found = judge(rounds(math.log(10)), margin=90.0)
    assert found.verdict is Verdict.WITHIN_MARGIN
    assert found.dear == rule.Dear(candidate=0, baseline=0, pairs=20)


def test_what_lies_at_the_margin_is_inconclusive() -> None:
    assert judge(rounds(math.log(1.1))).verdict is Verdict.INCONCLUSIVE


def test_what_rises_from_nothing_fails_beyond_the_floor() -> None:
    pairs = np.full((10, 2, 2), 1e-9)
    pairs[..., 1] = 0.2
    assert judge(pairs, floor=0.1).verdict is Verdict.SLOWER
    assert judge(pairs, floor=0.3).verdict is Verdict.WITHIN_MARGIN


@pytest.mark.parametrize(("each", "times"), [(8, 10), (7, 3), (8, 5)])
def test_rare_dear_runs_of_any_metric_are_not_within_the_margin(each: int, times: float) -> None:
    pairs = rounds(0.0)
    pairs.reshape(-1, 2)[::each, 1] *= times
    share = rule.Share(looks=rule.looks_of(2), questions=14)
    found = rule.judge(pairs, margin=0.1, floor=0.0, share=share)
    assert found is not None
    assert found.verdict is Verdict.INCONCLUSIVE


def test_dear_runs_of_the_baseline_do_not_move_what_is_dear() -> None:
    pairs = rounds(0.0, count=10)
    pairs.reshape(-1, 2)[[0, 9], 0] *= 3
    pairs.reshape(-1, 2)[[2, 5, 11, 13, 17], 1] *= 2.5
    assert judge(pairs).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("pairs", [16, 20, 60])
@pytest.mark.parametrize("baseline", [0.0, 0.1, 0.2, 0.35])
def test_dear_runs_a_quarter_more_frequent_are_missed_hardly_more_often_than_is_allowed(
    pairs: int, baseline: float
) -> None:
    """Also where many of the baseline's are dear: its rate is not known better than the other."""
    error, chance = 0.0125, 0.0
    rates = (baseline + rule.RARE, baseline, 1 - rule.RARE - 2 * baseline)
    of_counts = multinomial(pairs, rates)
    for ours in range(pairs + 1):
        for theirs in range(pairs + 1 - ours):
            dear = rule.Dear(candidate=ours, baseline=theirs, pairs=pairs)
            if rule.chance_of_so_few(dear, rule.RARE) <= error:
                chance += float(of_counts.pmf((ours, theirs, pairs - ours - theirs)))
    assert chance <= 1.4 * error


def test_sixteen_pairs_without_a_dear_run_are_enough() -> None:
    error = rule.ALPHA / len(rule.LOOKS_OF_ONE)
    for pairs, is_enough in ((15, False), (16, True)):
        dear = rule.Dear(candidate=0, baseline=0, pairs=pairs)
        assert (rule.chance_of_so_few(dear, rule.RARE) <= error) is is_enough


def test_much_dearer_runs_fail_in_one_of_five_though_most_are_the_same() -> None:
    pairs = rounds(0.0)
    pairs.reshape(-1, 2)[::5, 1] *= 15
    found = judge(pairs)
    assert (found.verdict, found.by_dear_runs) == (Verdict.SLOWER, True)
    assert found.dear == rule.Dear(candidate=12, baseline=0, pairs=60)


def test_half_of_the_runs_dearer_by_six_tenths_is_not_within_the_margin() -> None:
    random = np.random.default_rng(5)
    found = [
        judge(rounds(math.log(1.6) * (random.random((30, 2)) < 0.5))).verdict for _ in range(50)
    ]
    assert Verdict.WITHIN_MARGIN not in found


def test_the_errors_of_all_looks_and_questions_add_up_to_what_is_allowed() -> None:
    for looks in (rule.looks_of(1), rule.looks_of(2), (8, 15, 30)):
        share = rule.Share(looks=looks, questions=7, about_dear=3)
        dear = sum(share.dear_at(look) for look in looks)
        assert 7 * len(looks) * share.alarm + 3 * dear == pytest.approx(rule.ALPHA)
        assert len(looks) * share.clear == pytest.approx(rule.ALPHA)

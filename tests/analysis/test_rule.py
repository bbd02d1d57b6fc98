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
    share = rule.Share(part=0.5, part_dear=0.5)
    found = rule.judge(pairs, margin=margin, floor=floor, share=share)
    assert found is not None
    return found


@given(some.integers(0, 2**32 - 1), some.floats(0, 1), some.floats(0.3, 5))
def test_the_estimate_lies_between_its_bounds(seed: int, share: float, times: float) -> None:
    random = np.random.default_rng(seed)
    found = judge(rounds(math.log(times) * (random.random((30, 2)) < share)))
    assert found.low is not None
    assert found.ratio is not None
    assert found.low <= found.ratio <= (found.high or math.inf)


def test_what_did_not_change_is_within_its_margin() -> None:
    assert judge(rounds(0.0)).verdict is Verdict.WITHIN_MARGIN


def test_a_rise_beyond_the_margin_fails_with_sixteen_pairs_as_with_sixty() -> None:
    found = judge(rounds(math.log(1.3)))
    assert judge(rounds(math.log(1.3), count=8)).verdict is Verdict.SLOWER
    assert (found.verdict, found.rounds) == (Verdict.SLOWER, 30)
    assert found.low is not None
    assert found.low > 1.1


def test_nothing_is_said_before_the_first_look() -> None:
    first = rule.LOOKS[0]
    pairs = rounds(1.0)
    assert rule.judge(pairs[: first - 1], margin=0.1, floor=0, share=rule.Share()) is None
    assert rule.judge(pairs[:first], margin=0.1, floor=0, share=rule.Share()) is not None


def test_the_verdict_is_that_of_the_latest_look() -> None:
    logs = np.where(np.arange(30)[:, None] < 8, math.log(1.3), -0.1)
    found = [judge(rounds(logs)[:look]).verdict for look in (8, 15, 30)]
    assert found == [Verdict.SLOWER, Verdict.SLOWER, Verdict.WITHIN_MARGIN]


@pytest.mark.parametrize("scenarios", [1, 2, 6])
def test_what_did_not_change_passes_once_there_are_sixteen_pairs(scenarios: int) -> None:
    first = next(look for look in rule.LOOKS if look * scenarios >= 16)
    before = max((look for look in rule.LOOKS if look < first), default=rule.LOOKS[0])
    calm = rounds(0.0, scenarios=scenarios)
    assert judge(calm[:first]).verdict is Verdict.WITHIN_MARGIN
    if before < first:
        assert judge(calm[:before]).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("times", "verdict"), [(1, "within margin"), (9, "inconclusive")])
def test_of_what_may_double_eight_pairs_are_enough_if_none_is_dear(
    times: float, verdict: str
) -> None:
    pairs = rounds(0.0, count=4)
    pairs[2, 1, 1] *= times
    assert judge(pairs, margin=1.0).verdict.value == verdict
    assert judge(pairs[:, :1], margin=1.0).verdict is Verdict.INCONCLUSIVE


def test_what_a_wide_margin_allows_is_not_dear() -> None:
    found = judge(rounds(math.log(10)), margin=90.0)
    assert found.verdict is Verdict.WITHIN_MARGIN
    assert found.dear == rule.Dear(candidate=0, baseline=0, pairs=60)


def test_a_scenario_that_rose_among_six_keeps_them_from_a_pass() -> None:
    pairs = rounds(0.0, scenarios=6)
    pairs[:, 4, 1] *= 1.9
    for look in rule.LOOKS:
        found = judge(pairs[:look])
        assert (found.verdict, found.apart) == (Verdict.INCONCLUSIVE, 4)


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_a_dear_run_of_one_scenario_keeps_six_from_a_pass_after_four_rounds(first: int) -> None:
    """With a half of its runs dear, one of four is in five of sixteen gates, or none."""
    pairs = rounds(0.0, scenarios=6)
    pairs[first::8, 4, 1] *= 3.0
    found = judge(pairs[: rule.LOOKS[0]])
    assert (found.verdict, found.apart) == (Verdict.INCONCLUSIVE, 4)
    assert judge(pairs[: rule.LOOKS[1]]).verdict is Verdict.WITHIN_MARGIN


@pytest.mark.parametrize("share", [0.5, 0.6])
def test_dear_runs_in_half_of_the_rounds_of_one_scenario_of_six_seldom_pass(share: float) -> None:
    random = np.random.default_rng(9)
    gates, passed = 100, 0
    for _ in range(gates):
        pairs = np.exp(random.normal(0, 0.05, (30, 6, 2)))
        pairs[:, 2, 1] *= np.where(random.random(30) < share, 3.0, 1.0)
        found = [judge(pairs[:look]).verdict for look in rule.LOOKS[:3]]
        passed += Verdict.WITHIN_MARGIN in found
    assert passed <= gates / 6


def test_dear_runs_of_both_sides_do_not_keep_what_did_not_change_from_a_pass() -> None:
    random = np.random.default_rng(7)
    found = []
    for _ in range(40):
        pairs = np.exp(random.normal(0, 0.1, (30, 2, 2)))
        pairs *= np.where(random.random(pairs.shape) < 0.1, 3.0, 1.0)
        found.append(judge(pairs).verdict)
    assert found.count(Verdict.WITHIN_MARGIN) >= 38


@pytest.mark.parametrize("noise", [0.1, 0.3, 0.5])
def test_what_is_beyond_its_margin_by_noise_alone_hardly_passes(noise: float) -> None:
    """Setting pairs with a dear side aside leaves the others as symmetric as they were."""
    random = np.random.default_rng(8)
    gates, passed = 100, 0
    for _ in range(gates):
        pairs = np.exp(random.normal(0, noise, (30, 2, 2)))
        pairs[..., 1] *= 1.25
        looked = [judge(pairs[:look], margin=0.25).verdict for look in (8, 30)]
        passed += Verdict.WITHIN_MARGIN in looked
    assert passed <= gates * rule.ALPHA


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
    found = rule.judge(pairs, margin=0.1, floor=0.0, share=rule.Share(part=0.5))
    assert found is not None
    assert found.verdict is Verdict.INCONCLUSIVE


def test_dear_runs_of_the_baseline_do_not_move_what_is_dear() -> None:
    pairs = rounds(0.0, count=10)
    pairs.reshape(-1, 2)[[0, 9], 0] *= 3
    pairs.reshape(-1, 2)[[2, 5, 11, 13, 17], 1] *= 2.5
    assert judge(pairs).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("pairs", [16, 20, 60])
@pytest.mark.parametrize("baseline", [0.0, 0.1, 0.2, 0.33])
def test_dear_runs_that_are_more_frequent_are_missed_hardly_more_often_than_is_allowed(
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
    share = rule.Share(part_dear=1.0)
    dear = sum(share.dear_at(look) for look in rule.LOOKS)
    assert len(rule.LOOKS) * share.alarm + dear == pytest.approx(rule.ALPHA)
    assert len(rule.LOOKS) * rule.CLEAR == pytest.approx(rule.ALPHA)

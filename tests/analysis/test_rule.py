"""The rule: its bounds are those of scipy, and of counting all signs."""

import itertools
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from numpy.typing import ArrayLike
from scipy.stats import binom, multinomial, wilcoxon

from tests.running import run
from waitbench.analysis import rule
from waitbench.analysis.rule import RULE, DiscordantPairs, RuleResult, signed_rank_interval
from waitbench.model.verdicts import Verdict

DISTINCT = some.lists(
    some.floats(0.001, 10), min_size=1, max_size=20, unique_by=lambda x: round(x, 6)
).flatmap(
    lambda sizes: some.tuples(*(some.sampled_from((size, -size)) for size in sizes)).map(np.array)
)
TIED = some.lists(some.integers(-3, 3), min_size=1, max_size=8).map(np.array)
ERRORS = some.sampled_from((0.0005, 0.01, 0.05, 0.2))


@given(DISTINCT, ERRORS)
def test_the_bounds_are_where_the_test_of_scipy_turns(values: np.ndarray, error: float) -> None:
    interval = signed_rank_interval(values, error, error)

    def chance(location: float, alternative: str) -> float:
        moved = values - location
        return float(wilcoxon(moved, alternative=alternative, method="exact").pvalue)

    if math.isinf(interval.low):
        assert 0.5 ** len(values) > error
        return
    assert chance(interval.low - 1e-9, "greater") <= error < chance(interval.low + 1e-9, "greater")
    assert chance(interval.high + 1e-9, "less") <= error < chance(interval.high - 1e-9, "less")
    assert interval.low <= interval.centre <= interval.high


@given(TIED, ERRORS)
def test_with_ties_and_zeros_no_more_signs_are_beyond_a_bound_than_is_allowed(
    values: np.ndarray, error: float
) -> None:
    signs = itertools.product((1, -1), repeat=len(values))
    intervals = [signed_rank_interval(values * sign, error, error) for sign in signs]
    assert np.mean([it.low > 0 for it in intervals]) <= error
    assert np.mean([it.high < 0 for it in intervals]) <= error


def rounds(logs: ArrayLike = 0.0, count: int = 30, scenarios: int = 2) -> np.ndarray:
    """Costs of 1, and of the candidate by these logarithms, with a little noise."""
    noise = np.random.default_rng(1).normal(0, 0.03, (count, scenarios, 2))
    noise[..., 1] += np.broadcast_to(logs, noise[..., 1].shape)
    return np.exp(noise)


def judge(
    pairs: np.ndarray,
    margin: float = 0.1,
    allowance: float = 0.0,
    *,
    alpha: float | None = None,
    is_cost: bool = True,
) -> RuleResult:
    """By the latest look, as the first of two questions."""
    looked = pairs[: RULE.latest_analysis(len(pairs))].tolist()
    return rule.judge_pairs(
        tuple(tuple(map(tuple, row)) for row in looked),
        margin=margin,
        allowance=allowance,
        alpha=RULE.alpha_fail / 2 if alpha is None else alpha,
        least=1e-9,
        alpha_outliers=is_cost * RULE.alpha_outliers / 2,
    )


@given(some.integers(0, 2**32 - 1), some.floats(0, 1), some.floats(0.3, 5))
def test_the_estimate_lies_between_its_bounds(seed: int, share: float, times: float) -> None:
    random = np.random.default_rng(seed)
    result = judge(rounds(math.log(times) * (random.random((30, 2)) < share)))
    assert result.ratio is not None
    assert result.ratio.low is not None
    assert result.ratio.low <= result.ratio.value <= (result.ratio.high or math.inf)


@pytest.mark.parametrize(
    ("times", "count", "verdict"),
    [
        (0.5, 30, Verdict.FASTER),
        (0.95, 30, Verdict.WITHIN_MARGIN),
        (1.0, 30, Verdict.WITHIN_MARGIN),
        (1.1, 30, Verdict.INCONCLUSIVE),
        (1.3, 9, Verdict.SLOWER),
        (1.3, 30, Verdict.SLOWER),
    ],
)
def test_a_rise_fails_beyond_the_margin_only(times: float, count: int, verdict: Verdict) -> None:
    result = judge(rounds(math.log(times), count))
    assert (result.verdict, result.rounds) == (verdict, count)
    assert result.ratio is not None
    assert ((result.ratio.low or 0.0) > 1.1) is (verdict is Verdict.SLOWER)


def test_the_verdict_is_that_of_the_latest_look() -> None:
    pairs = rounds(np.where(np.arange(30)[:, None] < 9, math.log(1.3), -0.1))
    results = [judge(pairs[:count]) for count in (9, 11, 30)]
    assert [it.verdict for it in results] == [Verdict.SLOWER, Verdict.SLOWER, Verdict.WITHIN_MARGIN]
    assert [RULE.latest_analysis(count) for count in (3, 4, 17, 30, 99)] == [0, 4, 12, 30, 30]


@pytest.mark.parametrize(("scenarios", "first"), [(1, 18), (2, 9), (6, 4)])
def test_what_did_not_change_passes_once_there_are_eighteen_pairs(
    scenarios: int, first: int
) -> None:
    steps = [
        judge(rounds(scenarios=scenarios)[:look]).verdict for look in RULE.analyses if look <= first
    ]
    assert steps == [Verdict.INCONCLUSIVE] * (len(steps) - 1) + [Verdict.WITHIN_MARGIN]


@pytest.mark.parametrize(
    ("times", "verdict"), [(1, Verdict.WITHIN_MARGIN), (9, Verdict.INCONCLUSIVE)]
)
def test_of_what_may_double_eight_pairs_are_enough_if_none_is_an_outlier(
    times: float, verdict: Verdict
) -> None:
    pairs = rounds(0.0, count=4)
    pairs[2, 1, 1] *= times
    assert judge(pairs, margin=1.0).verdict is verdict
    assert judge(pairs[:, :1], margin=1.0).verdict is Verdict.INCONCLUSIVE


def test_the_analyses_at_which_questions_can_pass() -> None:
    assert [RULE.passing_analyses(count, 0.1)[0] for count in (1, 2, 4)] == [18, 9, 4]
    assert RULE.passing_analyses(2, 1.0)[0] == 4, "where CPU may double"


def test_a_scenario_that_rose_among_six_keeps_them_from_a_pass() -> None:
    pairs = rounds(scenarios=6)
    pairs[:, 4, 1] *= 1.9
    results = [judge(pairs[:look]) for look in RULE.analyses]
    assert {(it.verdict, it.costly_scenarios) for it in results} == {(Verdict.INCONCLUSIVE, (4,))}


@pytest.mark.parametrize("share", [0.5, 0.6])
def test_outliers_in_half_of_the_rounds_of_one_scenario_of_six_seldom_pass(share: float) -> None:
    random = np.random.default_rng(9)
    gates, passed = 200, 0
    for _ in range(gates):
        pairs = np.exp(random.normal(0, 0.05, (30, 6, 2)))
        pairs[:, 2, 1] *= np.where(random.random(30) < share, 3.0, 1.0)
        looked = (judge(pairs[:look]).verdict for look in RULE.analyses)
        answers = (verdict for verdict in looked if verdict is not Verdict.INCONCLUSIVE)
        passed += next(answers, None) is Verdict.WITHIN_MARGIN
    assert passed <= gates / 6


def test_outliers_of_both_sides_do_not_keep_what_did_not_change_from_a_pass() -> None:
    random = np.random.default_rng(7)
    verdicts = []
    for _ in range(40):
        pairs = np.exp(random.normal(0, 0.1, (30, 2, 2)))
        verdicts.append(judge(pairs * np.where(random.random(pairs.shape) < 0.1, 3.0, 1.0)).verdict)
    assert verdicts.count(Verdict.WITHIN_MARGIN) >= 38


@pytest.mark.parametrize("noise", [0.1, 0.3, 0.5])
def test_what_is_beyond_its_margin_by_noise_alone_hardly_passes(noise: float) -> None:
    """The pairs without outliers are as symmetric as all pairs."""
    random = np.random.default_rng(8)
    gates, passed = 100, 0
    for _ in range(gates):
        pairs = np.exp(random.normal(0, noise, (30, 2, 2)))
        pairs[..., 1] *= 1.25
        looked = [judge(pairs[:look], margin=0.25).verdict for look in (9, 30)]
        passed += Verdict.WITHIN_MARGIN in looked
    assert passed <= gates * RULE.alpha


def test_next_to_nothing_counts_as_the_least_value_of_a_metric() -> None:
    pairs = (((0.0, 0.0009), (0.0005, 0.0)),) * 9
    result = rule.judge_pairs(pairs, margin=0.1, least=1e-3, alpha=RULE.alpha_fail)
    assert result.verdict is Verdict.WITHIN_MARGIN
    assert result.ratio is not None
    assert result.ratio.value == pytest.approx(1.0)


@pytest.mark.parametrize("scenarios", [1, 2])
@pytest.mark.parametrize(("margin", "allowance"), [(0.15, 0.0), (0.25, 0.005)])
def test_a_run_in_eight_at_ten_times_the_cost_seldom_passes(
    scenarios: int, margin: float, allowance: float
) -> None:
    """CPU, and a lateness of 20 ms: 0.09 of the gates have no such run in eighteen pairs."""
    random = np.random.default_rng(1)
    gates, passed = 200, 0
    for _ in range(gates):
        pairs = 0.02 * np.exp(random.normal(0, 0.05, (30, scenarios, 2)))
        pairs[..., 1] *= np.where(random.random((30, scenarios)) < 1 / 8, 10.0, 1.0)
        looked = [judge(pairs[:look], margin, allowance).verdict for look in RULE.analyses]
        passed += Verdict.WITHIN_MARGIN in looked
    assert passed <= 0.1 * gates


def test_outliers_of_the_baseline_do_not_move_what_is_an_outlier() -> None:
    pairs = rounds(count=10)
    pairs.reshape(-1, 2)[[0, 9], 0] *= 3
    pairs.reshape(-1, 2)[[2, 5, 11, 13, 17], 1] *= 2.5
    assert judge(pairs).verdict is Verdict.INCONCLUSIVE


def test_outliers_of_the_baseline_add_nothing_to_a_candidate_within_a_large_margin() -> None:
    pairs = rounds(math.log(15), count=18, scenarios=1)
    pairs[6, 0, 0] *= 2.2
    assert judge(pairs, margin=20.0).verdict is Verdict.WITHIN_MARGIN


@given(some.integers(0, 2**32 - 1), some.floats(0.3, 0.7))
def test_which_side_a_run_is_of_does_not_say_whether_it_is_an_outlier(
    seed: int, share: float
) -> None:
    """Otherwise, with outliers in half of all runs, one side would have more of them."""
    random = np.random.default_rng(seed)
    pairs = rounds() * np.where(random.random((30, 2, 2)) < share, 3.0, 1.0)
    swaps = random.random((30, 2, 1)) < 0.5
    counts = [
        judge(each, margin=0.0).outliers
        for each in (pairs, np.where(swaps, pairs[..., ::-1], pairs))
    ]
    one_sided = {it.candidate + it.baseline for it in counts if it is not None}
    assert len(one_sided) == 1


@pytest.mark.parametrize("pairs", [16, 20, 60])
@pytest.mark.parametrize("baseline", [0.0, 0.1, 0.2, 0.33])
def test_outliers_that_are_more_frequent_are_missed_hardly_more_often_than_is_allowed(
    pairs: int, baseline: float
) -> None:
    """Also with many outliers of the baseline, whose rate is not known better."""
    of_counts = multinomial(
        pairs,
        (baseline + RULE.rise_of_outliers, baseline, 1 - RULE.rise_of_outliers - 2 * baseline),
    )
    missed = [
        (ours, theirs, pairs - ours - theirs)
        for ours in range(pairs + 1)
        for theirs in range(pairs + 1 - ours)
        if DiscordantPairs(candidate=ours, baseline=theirs, pairs=pairs).p_value_below(
            RULE.rise_of_outliers
        )
        <= RULE.alpha_pass
    ]
    assert float(of_counts.pmf(missed).sum()) <= 1.5 * RULE.alpha_pass


@given(some.integers(0, 60), some.integers(0, 60))
def test_the_chance_of_heads_is_that_of_scipy(heads: int, tails: int) -> None:
    tosses = heads + tails
    expected = binom.sf(heads - 1, tosses, 0.5)
    counts = DiscordantPairs(candidate=heads, baseline=tails, pairs=tosses)
    assert counts.p_value_of_rise == pytest.approx(float(expected), rel=1e-9)


def test_half_of_the_runs_dearer_by_six_tenths_is_not_within_the_margin() -> None:
    random = np.random.default_rng(5)
    costlier = (math.log(1.6) * (random.random((30, 2)) < 0.5) for _ in range(50))
    assert Verdict.WITHIN_MARGIN not in [judge(rounds(logs)).verdict for logs in costlier]


def test_the_errors_of_all_looks_add_up_to_what_is_allowed() -> None:
    assert len(RULE.analyses) * RULE.alpha_fail + RULE.alpha_outliers == pytest.approx(RULE.alpha)
    assert len(RULE.analyses) * RULE.alpha_pass == pytest.approx(RULE.alpha)


def test_eight_pairs_that_agree_are_enough_for_the_first_question() -> None:
    """Two scenarios have them at the first analysis."""
    pairs = rounds(math.log(1.5), RULE.analyses[0], scenarios=2)
    alpha = RULE.alpha_fail * RULE.first_question
    assert judge(pairs, alpha=alpha).verdict is Verdict.SLOWER


@pytest.mark.parametrize("others", [11, 12])
def test_twelve_pairs_that_agree_are_enough_for_each_of_twelve_questions(others: int) -> None:
    alpha = RULE.alpha_fail * (1 - RULE.first_question) / others
    pairs = rounds(math.log(1.5), 12, scenarios=1)
    assert (judge(pairs, alpha=alpha).verdict is Verdict.SLOWER) is (others == 11)


def test_a_gate_does_not_wait_for_scipy_to_start() -> None:
    code = (
        "import sys\nfrom waitbench.analysis import rule, statistics\n"
        "statistics.mean([1.0, 2.0, 3.0])\n"
        "rule.judge_pairs((((1.0, 1.1),),) * 9, margin=0.1, least=1e-9, alpha=0.01)\n"
        "rule.judge_limit((((1.0, 1.1),),) * 9, alpha=0.01)\n"
        "assert not any(name.startswith('scipy') for name in sys.modules)\n"
    )
    assert run(sys.executable, "-c", code).returncode == 0

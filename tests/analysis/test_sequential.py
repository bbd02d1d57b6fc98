"""Bounds that hold for all looks together."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from waitbench.analysis import sequential
from waitbench.analysis.sequential import Errors

ONE_IN_100 = Errors(alarm=0.01, clear=0.01)


@pytest.mark.parametrize(("count", "share"), [(8, 1 / 8), (10, 0.1), (19, 1 / 19), (25, 0.08)])
def test_trimmed_bounds_are_those_of_yuen_as_scipy_has_them(count: int, share: float) -> None:
    # From eight rounds on a tenth at each end, at least one. The other sample adds no variance.
    values = [0.01 * n**1.5 + (0.5 if n == 7 else 0) for n in range(count)]
    found = sequential.bounds(values, Errors(alarm=0.025, clear=0.025))
    reference = stats.ttest_ind(values, [0.0] * count, trim=share + 1e-9, equal_var=False)
    assert found.centre == pytest.approx(stats.trim_mean(values, share + 1e-9))
    assert found.centre / found.standard_error == pytest.approx(reference.statistic)
    kept = count - 2 * int((share + 1e-9) * count)
    half = found.standard_error * stats.t.ppf(0.975, kept - 1)
    assert (found.low, found.high) == pytest.approx((found.centre - half, found.centre + half))


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=40), st.floats(1e-6, 0.2))
def test_bounds_enclose_the_centre_and_mirror_when_the_revisions_change_places(
    logs: list[float], error: float
) -> None:
    errors = Errors(alarm=error, clear=error)
    found = sequential.bounds(logs, errors)
    mirrored = sequential.bounds([-value for value in logs], errors)
    assert found.low <= found.centre <= found.high
    assert mirrored.low == pytest.approx(-found.high, abs=1e-9)


def test_one_spike_among_ten_rounds_hardly_moves_the_bounds() -> None:
    calm = [0.01, -0.02, 0.0, 0.015, -0.01, 0.02, -0.005, 0.005, 0.01, -0.015]
    before = sequential.bounds(calm, ONE_IN_100)
    after = sequential.bounds([*calm[:-1], 3.0], ONE_IN_100)
    assert after.high < before.high + 0.05


def test_one_looks_no_later_than_at_the_last_look_that_the_rounds_allow() -> None:
    assert sequential.looks_until(3) == (3,)
    assert sequential.looks_until(10) == (3, 4, 5, 6, 8, 10)
    assert sequential.looks_until(33)[-2:] == (25, 30)
    assert sequential.looks_until(2) == ()
    assert sequential.FEWEST_ROUNDS == 3


def test_the_alarms_of_all_hypotheses_at_all_looks_ever_share_what_is_allowed() -> None:
    errors = [sequential.errors_at(look, 15).alarm for look in sequential.LOOKS]
    assert 0.0299 < 15 * sum(errors) < 0.03, "the rest is for the tails"


def test_each_hypothesis_may_be_cleared_wrongly_as_often_as_if_it_were_the_only_one() -> None:
    errors = [sequential.errors_at(look, 15).clear for look in sequential.LOOKS]
    assert 0.0499 < sum(errors) < 0.05
    assert sequential.errors_at(5, 1).alarm == 0


def test_simulated_comparisons_err_in_fewer_than_5_per_cent() -> None:
    """With margin 0 every error shows; benchmarks/gate_simulation.py simulates whole gates."""
    source = random.Random(7)
    looks = sequential.looks_until(20)
    alarms = 0
    cleared = [0, 0, 0, 0]
    for _ in range(300):
        below, above = set(), set()
        for n in range(4):
            logs = [_noise(source) for _ in range(20)]
            for look in looks:
                found = sequential.bounds(logs[:look], sequential.errors_at(look, 4))
                below |= {n} if found.low > 0 else set()
                above |= {n} if found.high < 0 else set()
        alarms += bool(below)
        for n in above:
            cleared[n] += 1
    assert alarms <= 15
    assert 0 < max(cleared) <= 15


def test_going_on_after_the_last_round_errs_no_more_often() -> None:
    """A comparison of 12 rounds that failed nothing goes on to 40, as ``--resume`` lets it."""
    source = random.Random(11)
    alarms = 0
    for _ in range(300):
        logs = [source.gauss(0, 0.05) for _ in range(40)]
        for most in (12, 25, 40):
            looks = sequential.looks_until(most)
            found = [
                sequential.bounds(logs[:look], sequential.errors_at(look, 1)) for look in looks
            ]
            if any(bounds.low > 0 for bounds in found):
                alarms += 1
                break
    assert 0 < alarms <= 15


def _noise(source: random.Random) -> float:
    """5 % of normal noise, and one in twenty with a spike."""
    spike = source.choice((-1, 1)) * source.expovariate(1) if source.random() < 0.05 else 0.0
    return source.gauss(0, 0.05) + spike


def test_there_is_no_error_to_spend_between_looks() -> None:
    with pytest.raises(ValueError, match="7 is none of the looks"):
        sequential.errors_at(7, 1)

"""Rare bad runs: what is found, and how seldom it errs."""

import itertools
import random

import pytest

from waitbench.analysis import tail


def test_the_chance_of_a_sum_is_that_of_all_signs() -> None:
    differences = [3.0, -1.0, 2.0, 0.5, -0.25]
    sums = [
        sum(sign * abs(value) for sign, value in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    observed = sum(differences)
    expected = sum(one >= observed - 1e-9 for one in sums) / len(sums)
    assert tail.chance_of_sum(differences) == pytest.approx(expected)


@pytest.mark.parametrize("differences", [[], [0.0, 0.0], [-1.0, 0.5]])
def test_no_rise_is_never_rare(differences: list[float]) -> None:
    assert tail.chance_of_sum(differences) == 1.0


def test_one_run_is_one_coin_whatever_it_costs() -> None:
    assert tail.chance_of_sum([1000.0]) == 0.5
    assert tail.chance_of_sum([1000.0, 1000.0]) == 0.25


def rounds(
    source: random.Random, count: int, spin: float, mode: float
) -> list[tuple[float, float]]:
    """Runs of a machine on which ``mode`` of them cost three times as much."""

    def run(spins: float) -> float:
        cost = source.lognormvariate(0, 0.1) * (3 if source.random() < mode else 1)
        return cost * (15 if source.random() < spins else 1)

    return [(run(0), run(spin)) for _ in range(count)]


def outcomes(spin: float, mode: float, trials: int, scenarios: int = 2) -> tuple[int, int]:
    """How often it is worse, and how often clear, of so many comparisons."""
    source = random.Random(5)
    worse = clear = 0
    for _ in range(trials):
        pairs = [rounds(source, 30, spin, mode) for _ in range(scenarios)]
        for look in (8, 12, 20, 30):
            found = tail.judge(
                [of[:look] for of in pairs], margin=0.25, hypotheses=1, most_rounds=30
            )
            assert found is not None
            if found.is_worse or found.is_clear:
                break
        assert found is not None
        worse += found.is_worse
        clear += found.is_clear
    return worse, clear


@pytest.mark.parametrize("mode", [0.0, 0.1, 0.4])
def test_without_a_change_it_hardly_ever_fails(mode: float) -> None:
    worse, clear = outcomes(0.0, mode, 100)
    assert worse <= 2
    assert clear >= 80


@pytest.mark.parametrize("mode", [0.0, 0.1])
def test_a_spin_in_one_run_of_five_is_found(mode: float) -> None:
    worse, clear = outcomes(0.2, mode, 100)
    assert worse >= 85
    assert clear <= 6


def test_a_single_scenario_is_judged_by_the_same_error() -> None:
    worse, clear = outcomes(0.0, 0.0, 100, scenarios=1)
    assert worse <= 2
    assert clear >= 95
    worse, clear = outcomes(0.2, 0.0, 400, scenarios=1)
    assert clear <= 0.05 * 400


def test_one_bad_run_of_thirty_does_not_leave_a_single_scenario_open() -> None:
    quiet = [(1.0, 1.0)] * 29
    found = tail.judge([[(1.0, 4.0), *quiet]], margin=0.25, hypotheses=1, most_rounds=30)
    assert found is not None
    assert (found.extreme, found.is_clear, found.is_worse) == (1, True, False)


@pytest.mark.parametrize("of_baseline", [0, 1])
def test_what_happens_to_the_baseline_too_counts_less(of_baseline: int) -> None:
    pairs = [(1.0, 4.0)] * 2 + [(5.0, 1.0)] * of_baseline
    pairs += [(1.0, 1.0)] * (30 - len(pairs))
    found = tail.judge([pairs], margin=0.25, hypotheses=1, most_rounds=30)
    assert found is not None
    assert (found.extreme, found.is_clear) == (2, of_baseline == 1)


@pytest.mark.parametrize("mode", [0.1, 0.4])
def test_a_spin_does_not_hide_among_the_runs_that_cost_more_on_both_sides(mode: float) -> None:
    _, clear = outcomes(0.2, mode, 400, scenarios=1)
    assert clear <= 0.05 * 400


def test_there_is_nothing_to_say_before_the_first_look() -> None:
    pairs = [[(1.0, 1.0)] * 7]
    assert tail.judge(pairs, margin=0.25, hypotheses=1, most_rounds=30) is None

"""Which values of some rounds are usual, and what is said of their mean."""

import math
import random

import pytest

from waitbench.analysis import outliers, sequential
from waitbench.analysis.sequential import Bounds, Errors

ERRORS = Errors(alarm=0.01, clear=0.01)
CALM = [0.01 * (place % 5 - 2) for place in range(20)]


def kept(column: list[float]) -> list[bool]:
    return [*outliers.usual([column]).kept[0]]


def test_less_than_half_as_much_again_is_no_outlier_however_small_the_spread() -> None:
    assert all(kept([*CALM, math.log(1.45)]))
    assert kept([*CALM, math.log(1.6)]) == [True] * 20 + [False]


def test_what_happens_to_both_sides_is_told_from_what_happens_to_one() -> None:
    both = outliers.usual([[*CALM, *[1.1] * 5, *[-1.1] * 3]])
    one = outliers.usual([[*CALM, *[1.1] * 5]])
    assert both.kept[0] == (True,) * 20 + (False,) * 8
    assert (both.has_outliers, both.is_even) == (True, True)
    assert (one.has_outliers, one.is_even) == (True, False)


def test_what_a_third_of_the_rounds_has_is_no_exception() -> None:
    mostly = [*CALM, *[1.1] * 6, *[-1.1] * 6]
    assert not outliers.usual([mostly, [0.0] * 32]).has_outliers


def bounds(*columns: list[float], errors: Errors = ERRORS) -> Bounds:
    return sequential.bounds_without_outliers(columns, outliers.usual(columns), errors)


def test_what_is_left_out_of_one_scenario_leaves_the_other_its_round() -> None:
    assert bounds([*CALM, 5.0], [*CALM, 0.3]).centre == pytest.approx(0.3 / 21 / 2)


def test_scenarios_that_say_the_same_in_each_round_say_no_more_than_one() -> None:
    column = [*CALM, 5.0]
    one, two = bounds(column), bounds(column, column)
    assert (one.low, one.high) == pytest.approx((two.low, two.high))


def test_who_has_outliers_alone_is_called_faster_only_if_it_is_without_them() -> None:
    column = [*CALM * 4, *[-0.45] * 20]
    every, found = sequential.bounds(column, ERRORS), bounds(column)
    assert (found.centre, found.low) == (every.centre, every.low)
    assert every.high < 0 < found.high


def test_who_has_dear_outliers_alone_is_judged_with_them() -> None:
    column = [*CALM * 4, *[0.45] * 20]
    assert bounds(column) == sequential.bounds(column, ERRORS)


@pytest.mark.parametrize("scenarios", [1, 2])
@pytest.mark.parametrize("mode", [0.05, 0.1, 0.2, 0.4])
def test_bounds_hardly_err_more_than_they_may_on_a_machine_with_two_modes(
    scenarios: int, mode: float
) -> None:
    source, errors = random.Random(3), Errors(alarm=0.002, clear=0.05)

    def run() -> float:
        return source.gauss(0, 0.1) + (math.log(3) if source.random() < mode else 0)

    too_high = too_low = 0
    for _ in range(1000):
        columns = [[run() - run() for _ in range(20)] for _ in range(scenarios)]
        found = bounds(*columns, errors=errors)
        too_high += found.low > 0
        too_low += found.high < 0
    # An alarm has so little error at one look: see sequential.py.
    assert too_high <= 0.008 * 1000
    assert too_low <= 0.08 * 1000

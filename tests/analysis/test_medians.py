"""The median with its interval."""

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waitbench.analysis.statistics import Median, median


@pytest.mark.parametrize(
    ("count", "low", "high", "is_confident"),
    [
        (1, 1, 1, False),
        (2, 1, 2, False),
        (5, 1, 5, False),
        # The tables of order statistics at 95 %: the first of 6, the second from 9 on, and so on.
        (6, 1, 6, True),
        (8, 1, 8, True),
        (9, 2, 8, True),
        (12, 3, 10, True),
        (20, 6, 15, True),
        (100, 40, 61, True),
    ],
)
def test_the_interval_ends_at_the_order_statistics_of_the_tables(
    count: int, low: int, high: int, is_confident: bool
) -> None:
    values = list(range(1, count + 1))
    expected = Median(value=(count + 1) / 2, low=low, high=high, is_confident=is_confident)
    assert median(values[::-1]) == expected


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_interval_lies_within_the_values_and_around_the_median(values: list[float]) -> None:
    found = median(values)
    assert min(values) <= found.low <= found.value <= found.high <= max(values)


def test_one_outlier_moves_neither_the_median_nor_a_narrow_interval() -> None:
    calm = [1.0 + n / 100 for n in range(12)]
    assert median([*calm[:-1], 50.0]) == median(calm)


@pytest.mark.parametrize("count", [6, 9, 15])
def test_the_median_is_enclosed_at_least_as_often_as_is_said(count: int) -> None:
    # Every way in which values can fall below and above the true median is equally likely.
    enclosed = 0
    for below in range(count + 1):
        found = median([-1.0 - n for n in range(below)] + [1.0 + n for n in range(count - below)])
        enclosed += (found.low < 0 < found.high) * len(list(combinations(range(count), below)))
    assert 0.95 <= enclosed / 2**count < 0.985


def test_skewed_values_are_enclosed_as_often() -> None:
    source = random.Random(11)
    true_median = 2**0.5  # of a Pareto distribution with shape 2
    enclosed = 0
    for _ in range(2000):
        found = median([source.paretovariate(2) for _ in range(10)])
        enclosed += found.low <= true_median <= found.high
    assert enclosed / 2000 > 0.96

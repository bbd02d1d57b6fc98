"""What charts of either kind share."""

import math

import pytest

from waitbench.reporting.drawing import fences, looks


@pytest.mark.parametrize("outlier", [27.0, 1 / 27])
def test_fences_leave_out_what_is_far_out_on_either_side(outlier: float) -> None:
    usual = [0.9, 0.95, 1.0, 1.1, 1.3, 0.7]
    low, high = fences([*usual, outlier])
    assert low < min(usual)
    assert high > max(usual)
    assert not low <= outlier <= high


def test_what_is_equal_or_alone_has_no_outlier() -> None:
    low, high = fences([1.0] * 5 + [1.3])
    assert low < 1.3 < high
    assert fences([5.0]) == fences([]) == (0.0, math.inf)


def test_of_several_engines_each_has_a_colour() -> None:
    found = looks(["a", "b", "c"], {"a": "one", "b": "two", "c": "one"})
    assert found["a"].colour == found["c"].colour != found["b"].colour
    assert (found["a"].turn, found["b"].turn, found["c"].turn) == (0, 0, 1)

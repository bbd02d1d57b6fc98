"""Quantiles, against numpy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waitbench.model.metrics import quantile, weighted_quantile

VALUES = st.floats(-1e9, 1e9)
SHARES = st.floats(0, 1)


@given(st.lists(VALUES, min_size=1, max_size=50), SHARES)
def test_quantiles_are_those_of_numpy(values: list[float], q: float) -> None:
    assert quantile(values, q) == float(np.quantile(values, q))


@given(st.lists(st.tuples(VALUES, st.integers(0, 9)), max_size=20), SHARES)
def test_a_value_that_occurs_often_counts_as_often(
    counts: list[tuple[float, int]], q: float
) -> None:
    expanded = [value for value, count in counts for _ in range(count)]
    if expanded:
        assert weighted_quantile(counts, q) == float(np.quantile(expanded, q))
    else:
        with pytest.raises(ValueError, match="no values"):
            weighted_quantile(counts, q)


def test_a_quantile_between_two_values_lies_between_them_in_proportion() -> None:
    assert quantile([30, 10, 20], 0.5) == 20
    assert quantile([10, 20], 0.25) == 12.5
    assert weighted_quantile([(20, 1), (10, 3)], 0.75) == 12.5


@pytest.mark.parametrize("q", [-0.01, 1.01, float("nan")])
def test_a_share_outside_0_and_1_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="is not a share between 0 and 1"):
        quantile([1.0], q)

"""Quantiles, against numpy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waitbench.model.metrics import quantile

VALUES = st.floats(-1e9, 1e9)
SHARES = st.floats(0, 1)


@given(st.lists(VALUES, min_size=1, max_size=50), SHARES)
def test_quantiles_are_those_of_numpy(values: list[float], q: float) -> None:
    assert quantile(values, q) == float(np.quantile(values, q))


@pytest.mark.parametrize("q", [-0.01, 1.01, float("nan")])
def test_a_share_outside_0_and_1_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="is not a share between 0 and 1"):
        quantile([1.0], q)

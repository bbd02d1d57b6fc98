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
    assert quantile(values, q) == pytest.approx(float(np.quantile(values, q)), rel=1e-9, abs=1e-6)

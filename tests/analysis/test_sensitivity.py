"""Which rise the gate finds."""

import math
import random

import pytest
from scipy import stats

from waitbench.analysis import sequential
from waitbench.analysis.sensitivity import detectable_change
from waitbench.analysis.sequential import Errors


@pytest.mark.parametrize(("rounds_", "margin", "error"), [(5, 0.10, 0.001), (3, 0.0, 0.01)])
def test_a_detectable_change_is_found_that_often(rounds_: int, margin: float, error: float) -> None:
    change = detectable_change(0.05, rounds_, margin, error)
    errors = Errors(alarm=error, clear=error)
    source = random.Random(3)
    found = 0
    for _ in range(1500):
        logs = [source.gauss(math.log(change), 0.05) for _ in range(rounds_)]
        found += sequential.bounds(logs, errors).low > math.log1p(margin)
    assert found / 1500 == pytest.approx(0.95, abs=0.017)


def test_at_a_detectable_change_the_noncentral_t_has_that_power() -> None:
    change = detectable_change(0.04, 6, 0.10, 0.002)
    noncentrality = math.log(change / 1.1) / 0.04 * math.sqrt(6)
    critical = stats.t.ppf(1 - 0.002, 5)
    assert stats.nct.sf(critical, 5, noncentrality) == pytest.approx(0.95, rel=1e-9)

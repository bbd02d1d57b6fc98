"""What is said of the dots."""

import pytest

from waitbench.analysis.statistics import Median
from waitbench.reporting.charts import dots


@pytest.mark.parametrize(
    ("sure", "said"),
    [
        ([True, True], "band: 95 % interval"),
        ([False], "band: range (too few runs for a 95 % interval)"),
        ([True, False], "band: 95 % interval, or range where runs are too few"),
    ],
)
def test_what_bands_mean_is_said(sure: list[bool], said: str) -> None:
    medians = [Median(value=2, low=1, high=3, is_confident=flag) for flag in sure]
    assert dots.explain(medians) == f"dot: run · line: median · {said}"

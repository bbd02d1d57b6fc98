"""The axis of ratios, and what is drawn on it."""

import re

import pytest

from waitbench.model.verdicts import Estimate
from waitbench.reporting.document import Dot
from waitbench.reporting.drawing import Axis
from waitbench.reporting.html import svg_of_dot

BAND = (1.0, 1.1)


def estimate(value: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value=value, low=low, high=high, count=5)


def test_half_and_twice_are_as_far_from_no_change() -> None:
    axis = Axis.of_ratios(4)
    assert [axis.place(ratio) for ratio in (0.25, 0.5, 1, 2, 4)] == [0, 0.25, 0.5, 0.75, 1]
    assert [text for _, text in axis.ticks] == ["÷4", "1", "×4"]


@pytest.mark.parametrize(
    ("ratios", "reach"),
    [
        ([], 1.25),
        ([estimate(1.1, 0.95, 1.2)], 1.25),
        ([estimate(1.1), estimate(0.4, 0.3, 0.6)], 5),
        ([estimate(3, 2.5, 25)], 50),
        ([estimate(3, 2.5, 1e9)], 3),
        ([estimate(1 / 700, 1e-9, 1e-2)], 1000),
        ([estimate(0.0)], 1000),
    ],
)
def test_an_axis_holds_what_is_known_up_to_a_thousandfold(
    ratios: list[Estimate], reach: float
) -> None:
    assert Axis.over(ratios).high == reach


def test_a_bound_on_one_side_reaches_from_the_dot_which_is_hollow_where_it_is_open() -> None:
    drawn = svg_of_dot(Dot(estimate(1, None, 2), (1.0, 2.0), is_open=True), Axis.of_ratios(4))
    assert '<line x1="50.0%" x2="75.0%"' in drawn
    assert 'class="h"' in drawn
    assert '<rect x="50.0%" width="25.0%"' in drawn, "what the margin allows"


@pytest.mark.parametrize(("ratio", "edge"), [(36.0, "100.0%"), (1 / 36, "0.0%"), (0.0, "0.0%")])
def test_what_lies_beyond_the_axis_is_an_arrow_at_its_edge(ratio: float, edge: str) -> None:
    drawn = svg_of_dot(Dot(estimate(ratio, ratio, ratio), BAND), Axis.of_ratios(2))
    assert "<circle" not in drawn
    assert f'<svg x="{edge}"' in drawn
    assert all(0 <= float(share) <= 100 for share in re.findall(r"([-\d.]+)%", drawn))

"""Numbers as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waitbench.model.verdicts import Estimate
from waitbench.reporting.formats import (
    format_change,
    format_digits,
    format_quantity,
    format_range,
    format_share,
    format_shares,
    format_values,
)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.0764, "13× less"), (1.5, "1.5× more"), (2.0, "2.0× more"), (0.2325, "4.3× less"),
        (1.3, "+30 %"), (1.04, "+4.0 %"), (0.95, "−5.0 %"), (0.7, "−30 %"), (0.66, "1.5× less"),
        (1.004, "+0.4 %"), (1.0001, "0 %"), (1.0, "0 %"), (131.0, "130× more"),
        (8090.0, "8,100× more"), (80_900.0, "81,000× more"), (0.0, "> 1M× less"),
    ],
)  # fmt: skip
def test_a_ratio_is_said_as_people_say_it(ratio: float, text: str) -> None:
    assert format_change(ratio) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.1, 0.025, 0.2325, "4.3–40×"), (1.7, 1.2, 2.4, "1.2–2.4×"), (0.6, 0.5, 1.0, "1.0–2.0×"),
        (0.072, 0.0719, 0.0721, "14×"), (2.0, 0.8, 5.0, "÷1.2…×5.0"),
        (1.6, 0.0, 5.0, "≤ 5.0× more"), (2.0, 0.01, 300.0, "not known"),
        (20.0, 3.0, 300.0, "≥ 3.0× more"), (0.05, 0.001, 0.3, "≥ 3.3× less"),
        (1.3, 1.2, 1.4, "+20…+40 %"),
        (1.1, 0.3, 3.8, "−70…+280 %"), (0.97, 0.96, 0.98, "−4.0…−2.0 %"),
        (1.01, 0.9999, 1.03, "0…+3.0 %"), (1.0, 1.0, 1.0, "0 %"),
        (2.0, None, 3.0, "≤ 3.0× more"), (0.042, None, 0.053, "≥ 19× less"),
        (1.02, None, 1.06, "≤ +6.0 %"), (0.5, None, None, ""),
    ],
)  # fmt: skip
def test_an_interval_has_the_unit_of_its_ratio(
    value: float, low: float | None, high: float | None, text: str
) -> None:
    assert format_range(Estimate(value, low, high, 3)) == text


@pytest.mark.parametrize(
    ("before", "after", "unit", "text"),
    [
        (0.499, 0.0226, "second", ["0.499 s", "0.0226 s"]),
        (0.000_116, 0.0011, "second", ["0.116 ms", "1.10 ms"]),
        (20_123, 3, "count", ["20,123", "3"]),
        (None, 0.5, "second", ["–", "0.500 s"]),
    ],
)
def test_what_is_compared_has_one_unit(
    before: float | None, after: float, unit: str, text: list[str]
) -> None:
    assert format_values([before, after], unit) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "text", "interval"),
    [
        (2.0, None, None, "2.0×", ""), (1.03, None, None, "100 %", ""),
        (4e-9, None, None, "0.0 %", ""), (0.1, None, 0.12, "10 %", "≤ 12 %"),
        (0.1, 0.084, 0.12, "10 %", "8.4–12 %"), (21.0, 5.0, None, "21×", "≥ 5.0×"),
        (21.0, 18.0, 25.0, "21×", "18–25×"),
    ],
)  # fmt: skip
def test_a_share_of_what_is_allowed_and_its_interval_are_in_per_cent_or_a_factor(
    value: float, low: float | None, high: float | None, text: str, interval: str
) -> None:
    assert format_share(value) == text
    assert format_shares(Estimate(value, low, high, 5)) == interval


@given(st.floats(1e-9, 1e12))
def test_no_figure_has_an_exponent_and_each_is_what_it_stands_for(value: float) -> None:
    for text in (format_quantity(value, "second"), format_quantity(value, "byte")):
        assert "e" not in text
        assert "nan" not in text
    text = format_digits(value)
    assert "e" not in text
    if value >= 1e-6:
        assert float(text.replace(",", "")) == pytest.approx(value, rel=6e-3)


@given(st.floats(1e-5, 1e5), st.floats(1, 9.9), st.floats(1, 9.9))
def test_what_is_said_of_a_ratio_agrees_with_it(value: float, below: float, above: float) -> None:
    ratio = Estimate(value, value / below, value * above, 5)
    text, interval = format_change(value), format_range(ratio)
    if text.endswith("%"):
        assert interval.endswith("%"), "one unit"
        assert number_in(text.replace("−", "-")) / 100 == pytest.approx(value - 1, abs=6e-3)
    else:
        size, _, direction = text.rpartition("× ")
        assert "%" not in interval, "one unit"
        assert direction == ("less" if value < 1 else "more")
        assert number_in(size) == pytest.approx(max(value, 1 / value), rel=0.051)


def number_in(text: str) -> float:
    return float(text.removesuffix(" %").replace(",", ""))

"""A histogram of durations: bounded error, nothing lost."""

from hypothesis import given
from hypothesis import strategies as st
from support import histogram


@given(st.integers(0, 2**50))
def test_a_value_read_back_is_within_the_stated_error(value: int) -> None:
    recorded = histogram.Histogram()
    recorded.record(value)
    ((read, count),) = recorded.values()
    assert count == 1
    assert abs(read - value) <= histogram.RELATIVE_ERROR * value


@given(st.lists(st.integers(-5, 2**40), min_size=1))
def test_a_histogram_counts_everything_in_order_and_keeps_the_exact_maximum(
    values: list[int],
) -> None:
    recorded = histogram.Histogram()
    for value in values:
        recorded.record(value)
    read = recorded.values()
    assert sum(count for _, count in read) == len(values)
    assert [value for value, _ in read] == sorted({value for value, _ in read})
    assert recorded.maximum == max(0, *values)

"""Names that are too wide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waitbench.reporting.shortening import shorten, shorten_apart


def test_a_text_keeps_its_beginning_and_its_end() -> None:
    assert shorten("partitioned-long-input", 11) == "parti…input"
    assert shorten("partitioned", 11) == "partitioned"


@pytest.mark.parametrize(
    ("texts", "short"),
    [
        (["v0.16.0", "v0.16.1"], ["v0.16.0", "v0.16.1"]),
        (["a" * 20 + "1", "a" * 20 + "2"], ["aaaaa…aaaa1", "aaaaa…aaaa2"]),
        (["a" * 20 + "1" + "b" * 20, "a" * 20 + "2" + "b" * 20], ["aaa…1bbbbb…", "aaa…2bbbbb…"]),
        (["a-long-text-here", "a-long-text-here"], ["a-lon…-here", "a-lon…-here"]),
    ],
)
def test_texts_that_differ_still_do(texts: list[str], short: list[str]) -> None:
    assert shorten_apart(texts, 11) == short


def test_a_number_tells_apart_what_nothing_else_does() -> None:
    ends = ["1x", "2x", "1y", "2y"]
    texts = [f"{'a' * 20}{end[0]}{'b' * 20}{end[1]}{'c' * 20}" for end in ends]
    assert shorten_apart(texts, 11) == ["aaaa…cccc#1", "aaaa…cccc#2", "aaaa…cccc#3", "aaaa…cccc#4"]


@given(st.lists(st.text("ab", max_size=60), max_size=12), st.integers(7, 40))
def test_whatever_the_texts_are_they_fit_and_differ(texts: list[str], width: int) -> None:
    short = shorten_apart(texts, width)
    assert all(len(text) <= width for text in short)
    assert len(set(short)) == len(set(texts))

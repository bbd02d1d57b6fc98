"""Texts of others, as they may be shown."""

import pytest

from waitbench.system.streams import printable


@pytest.mark.parametrize(
    "hostile",
    ["\x1b", "\r", "\x07", "\x08", "\x00", "\x7f", "\x9b", "\u200f", "\u202e", "\u2066", "\ufffe",
     "\udcff"],
)  # fmt: skip
def test_what_commands_a_terminal_or_reorders_letters_is_replaced(hostile: str) -> None:
    assert printable(f"a{hostile}b") == "a\ufffdb"


@pytest.mark.parametrize("text", ["", "plain", "é 雪 × … – ±", "two\nlines", "a\ttab", "[31m"])
def test_what_can_be_seen_stays(text: str) -> None:
    assert printable(text) == text

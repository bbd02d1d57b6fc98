"""Names that are too wide."""

from waitbench.reporting.shortening import shorten


def test_a_wide_name_keeps_both_ends() -> None:
    assert shorten("partitioned-long-input", 12) == "partit…input"
    assert shorten("short", 12) == "short"

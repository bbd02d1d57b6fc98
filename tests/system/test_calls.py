"""Names of system calls."""

from waitbench.system.calls import name_of


def test_a_number_without_a_name_is_a_name_nevertheless() -> None:
    assert name_of(99_999) == "call 99999"

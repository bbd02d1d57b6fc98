"""The rounds that figures are of, and when nothing is concluded from them."""

import pytest

from tests.records import make_record
from waitbench.analysis.rounds import kept, mostly_disturbed
from waitbench.model.metrics import BY_NAME

REAL = BY_NAME["real"]


@pytest.mark.parametrize(
    ("disturbed", "rounds", "most"), [(0, 0, False), (3, 6, False), (4, 6, True), (3, 5, True)]
)
def test_exactly_half_is_not_most(disturbed: int, rounds: int, most: bool) -> None:
    assert mostly_disturbed(disturbed, rounds) is most


def test_a_revision_with_half_of_the_rounds_is_shown_and_one_with_fewer_is_not() -> None:
    runs = {"a": [{REAL.key: 1.0}] * 4, "b": [{REAL.key: 1.0}] * 2, "c": [{REAL.key: 1.0}]}
    assert kept(make_record(runs)) == ("a", "b")
    assert kept(make_record({"a": [{REAL.key: 1.0}], "b": []})) == ("a",)

"""The rounds that figures are of, and when nothing is concluded from them."""

import math

import pytest

from tests.records import disturb, make_record
from waitbench.analysis.rounds import kept, logs_by_round, mostly_disturbed
from waitbench.model.metrics import BY_NAME

REAL = BY_NAME["real"]


@pytest.mark.parametrize(
    ("disturbed", "rounds", "most"), [(0, 0, False), (3, 6, False), (4, 6, True), (3, 5, True)]
)
def test_exactly_half_is_not_most(disturbed: int, rounds: int, most: bool) -> None:
    assert mostly_disturbed(disturbed, rounds) is most


def test_of_several_scenarios_a_round_is_the_mean_and_disturbed_where_one_is() -> None:
    one = make_record({"a": [{REAL.key: 1.0}] * 3, "b": [{REAL.key: 4.0}] * 3})
    other = make_record({"a": [{REAL.key: 4.0}] * 2, "b": [{REAL.key: 16.0}] * 3})
    disturb(other, 1)
    found = logs_by_round([one, other], ("a", "b"), REAL)
    assert [one.disturbed for one in found] == [True, False], "the third is not of all"
    expected = (math.log(2), math.log(8))
    assert [one.logs for one in found] == [pytest.approx(expected)] * 2


def test_a_revision_with_half_of_the_rounds_is_shown_and_one_with_fewer_is_not() -> None:
    runs = {"a": [{REAL.key: 1.0}] * 4, "b": [{REAL.key: 1.0}] * 2, "c": [{REAL.key: 1.0}]}
    assert kept(make_record(runs)) == ("a", "b")
    assert kept(make_record({"a": [{REAL.key: 1.0}], "b": []})) == ("a",)

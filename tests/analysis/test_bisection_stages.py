"""Stages of a search: how they share the error, what equal packages say, where points stand."""

import math
from dataclasses import replace

import pytest

from tests.searches import commits, releases, searched
from waitbench.analysis.bisection import (
    End,
    Search,
    along,
    of_equal_packages,
    part_of_error,
)
from waitbench.analysis.bisection_steps import StepVerdict


def test_the_parts_of_all_stages_are_no_more_than_the_whole() -> None:
    assert math.fsum(part_of_error(number, alone=False) for number in range(40)) <= 1
    assert part_of_error(0, alone=True) == 1


@pytest.mark.parametrize(
    ("packages", "says"),
    [
        ("aab", StepVerdict.LIKE_GOOD),
        ("abb", StepVerdict.LIKE_BAD),
        ("aba", StepVerdict.WITHIN),
        ("abc", None),
    ],
)
def test_equal_packages_need_no_measurement(packages: str, says: StepVerdict | None) -> None:
    begun = Search.begin(points=3, margin=0.1)
    step = begun.next()
    assert step is not None
    assert of_equal_packages(step, ("a", "b")) is None
    ended = of_equal_packages(step, ("a", "a"))
    assert (ended and ended.says, ended and ended.rounds) == (StepVerdict.WITHIN, 0)
    split = commits(3, (2, 0.25)).search.answers[1][0]
    found = of_equal_packages(split, tuple(packages))
    assert (found and found.says) == says


def test_points_stand_at_their_ratio_to_the_first() -> None:
    placed = along(commits(9, (3, 0.25), (7, 0.6)))
    assert [one.point for one in placed] == sorted(one.point for one in placed)
    for one in placed:
        due = (1.25 if one.point >= 3 else 1) * (1.6 if one.point >= 7 else 1)
        assert one.ratio == pytest.approx(due)
        assert one.low <= one.ratio <= one.high


def test_a_search_has_found_what_any_stage_named_and_else_ends_as_the_first() -> None:
    coarse, hidden = releases(4, (2, 0.25)), commits(8, (4, 0.25), unbuildable=(3, 4, 5))
    assert searched(coarse).end is End.FOUND
    assert searched(coarse, commits(4)).end is End.FOUND
    assert searched(coarse, hidden).end is End.FOUND
    assert searched(hidden).end is End.RANGE
    assert searched(hidden, commits(4, (2, 0.25))).end is End.FOUND
    assert searched(releases(4)).end is End.NO_CHANGE
    assert replace(searched(coarse), stages=()).end is End.OPEN

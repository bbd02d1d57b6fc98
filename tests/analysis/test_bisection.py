"""Searches over histories, and their stages: what they end with, and what they measure."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.searched import MARGIN, history, measured, search
from tests.searches import commits, releases, searched
from waitbench.analysis.bisection import (
    End,
    Finding,
    Kind,
    Search,
    along,
    of_equal_packages,
    part_of_error,
)
from waitbench.analysis.bisection_steps import Question, StepAnswer, StepVerdict, answer

INCONCLUSIVE = StepAnswer(says=StepVerdict.INCONCLUSIVE, rounds=30)


def parts(found: Search) -> list[tuple[Kind, int, int]]:
    return [(one.kind, one.good, one.bad) for one in found.findings]


def middles(found: Search) -> list[int]:
    return [step.points[1] for step, _ in found.answers if step.question is Question.SPLIT]


@given(st.data())
def test_a_culprit_is_found_after_no_more_middles_than_halving_takes(data: st.DataObject) -> None:
    points = data.draw(st.integers(2, 300))
    culprit = data.draw(st.integers(1, points - 1))
    faster = data.draw(st.booleans())
    size = data.draw(st.floats(0.101, 20))
    costs = [(-cost if faster else cost) for cost in history(points, (culprit, size))]
    found = search(costs, faster=faster)
    assert found.end is End.FOUND
    assert parts(found) == [(Kind.CULPRIT, culprit - 1, culprit)]
    assert len(middles(found)) <= math.ceil(math.log2(points))
    # Besides these the endpoints, and the proof; of two points the endpoints are the proof.
    assert len(found.answers) == len(middles(found)) + (2 if points > 2 else 1)


@settings(max_examples=40)
@given(st.sets(st.integers(1, 63), min_size=2, max_size=4))
def test_every_culprit_is_found_in_order_of_history(culprits: set[int]) -> None:
    found = search(history(64, *((culprit, 0.25) for culprit in culprits)))
    assert found.end is End.FOUND
    assert parts(found) == [(Kind.CULPRIT, at - 1, at) for at in sorted(culprits)]


@given(st.data())
def test_a_culprit_among_unbuildable_points_is_a_range_that_holds_it(data: st.DataObject) -> None:
    unbuildable = data.draw(st.sets(st.integers(1, 38)))
    culprit = data.draw(st.integers(1, 39))
    found = search(history(40, (culprit, 0.25)), unbuildable=unbuildable)
    before = max(set(range(culprit)) - unbuildable)
    after = min(set(range(culprit, 40)) - unbuildable)
    alone = after == before + 1
    assert parts(found) == [(Kind.CULPRIT if alone else Kind.RANGE, before, after)]
    assert found.end is (End.FOUND if alone else End.RANGE)
    assert unbuildable.isdisjoint(point for step, _ in found.answers for point in step.points)


@given(st.integers(20, 80))
def test_a_ramp_is_gradual_and_names_no_commit(steps: int) -> None:
    found = search(history(90, *((at, 0.01) for at in range(5, 5 + steps))))
    assert found.end is End.GRADUAL
    assert {one.kind for one in found.findings} == {Kind.GRADUAL}


def test_of_a_ramp_the_smallest_proven_part_is_given() -> None:
    # All of it is in 41 to 60, and no half of 40 to 59 is beyond the margin.
    found = search(history(80, *((at, 0.009) for at in range(41, 61))))
    assert parts(found) == [(Kind.GRADUAL, 39, 59)]


def test_a_culprit_on_a_ramp_is_named_alone() -> None:
    found = search(history(64, (40, 0.25), *((at, 0.002) for at in range(64))))
    assert parts(found) == [(Kind.CULPRIT, 39, 40)]


@pytest.mark.parametrize("faster", [False, True])
def test_nothing_changed_ends_after_the_endpoints(faster: bool) -> None:
    found = search(history(256), faster=faster)
    assert (found.end, found.findings, len(found.answers)) == (End.NO_CHANGE, (), 1)


def test_a_change_the_other_way_is_none() -> None:
    assert search(history(256, (7, 0.25)), faster=True).end is End.NO_CHANGE


def test_endpoints_that_stay_unclear_prove_no_change() -> None:
    begun = Search.begin(points=9, margin=MARGIN)
    step = begun.next()
    assert step is not None
    ended = begun.answered(step, INCONCLUSIVE)
    assert ended.next() is None
    assert ended.end is End.NO_CHANGE


def test_a_split_that_stays_unclear_leaves_the_search_open() -> None:
    begun = search(history(9, (5, 0.25)), steps=1)
    step = begun.next()
    assert step is not None
    ended = begun.answered(step, INCONCLUSIVE)
    assert ended.next() is None
    assert ended.end is End.OPEN
    assert ended.findings == (Finding(kind=Kind.INCONCLUSIVE, good=0, bad=8, answer=INCONCLUSIVE),)


def test_a_proof_that_stays_unclear_names_nobody() -> None:
    begun = search(history(4, (1, 0.25)), steps=2)
    step = begun.next()
    assert step is not None
    assert (step.question, step.points) == (Question.PROOF, (0, 1))
    ended = begun.answered(step, INCONCLUSIVE)
    assert ended.end is End.OPEN
    assert parts(ended) == [(Kind.INCONCLUSIVE, 0, 1)]


def test_a_proof_that_fails_makes_the_proven_part_gradual() -> None:
    begun = search(history(4, (1, 0.25)), steps=2)
    step = begun.next()
    assert step is not None
    ended = begun.answered(step, StepAnswer(says=StepVerdict.WITHIN, rounds=30))
    assert ended.end is End.GRADUAL
    assert parts(ended) == [(Kind.GRADUAL, 0, 3)]


def test_a_search_that_goes_on_is_open_though_it_found_something() -> None:
    costs = history(64, (10, 0.25), (50, 0.25))
    whole = search(costs)
    kinds = [parts(search(costs, steps=steps))[0][0] for steps in range(len(whole.answers))]
    found = kinds.index(Kind.CULPRIT)
    assert search(costs, steps=found).end is End.OPEN


def test_kept_answers_give_the_same_search_again() -> None:
    costs = history(64, (10, 0.25), (50, 0.25))
    whole = search(costs, unbuildable=[31, 32, 50])
    again = Search.begin(points=64, margin=MARGIN)
    for point in whole.missing:
        again = again.without(point)
    for step, said in whole.answers:
        again = again.answered(step, said)
    assert again == whole
    assert again.findings == whole.findings


def test_the_nearest_neighbour_takes_the_place_of_a_middle_that_is_missing() -> None:
    begun = search(history(65, (10, 0.25)), steps=1)
    taken = []
    for _ in range(4):
        step = begun.next()
        assert step is not None
        taken.append(step.points[1])
        begun = begun.without(taken[-1])
    assert taken == [32, 31, 33, 30]


def test_another_middle_may_be_taken() -> None:
    costs = history(65, (10, 0.25))
    begun = search(costs, steps=1)
    step = begun.next()
    assert step is not None
    other = replace(step, points=(0, 8, 64))
    said = measured(begun, costs)
    assert middles(begun.answered(other, said)) == [8]
    for wrong in ((0, 0, 64), (0, 64, 64), (1, 8, 64), (0, 8, 63)):
        with pytest.raises(ValueError, match="not what is asked next"):
            begun.answered(replace(step, points=wrong), said)
    with pytest.raises(ValueError, match="not what is asked next"):
        begun.without(8).answered(other, said)


def test_an_answer_that_needed_no_rounds_counts_like_any_other() -> None:
    # Two points of one package need not be measured.
    so_far = search(history(5, (3, 0.25)), steps=1)
    for says in (StepVerdict.LIKE_GOOD, StepVerdict.WITHIN):
        step = so_far.next()
        assert step is not None
        so_far = so_far.answered(step, StepAnswer(says=says, rounds=0))
    assert parts(so_far) == [(Kind.GRADUAL, 0, 4)]


def test_nothing_is_answered_twice() -> None:
    begun = search(history(65, (10, 0.25)), steps=1)
    with pytest.raises(ValueError, match="not what is asked next"):
        begun.answered(*begun.answers[0])


@pytest.mark.parametrize("point", [-1, 0, 32, 64, 65])
def test_what_an_answer_rests_on_cannot_be_left_out(point: int) -> None:
    begun = search(history(65, (10, 0.25)), steps=2)
    with pytest.raises(ValueError, match="cannot do without"):
        begun.without(point)


def test_a_search_needs_two_points() -> None:
    with pytest.raises(ValueError, match="two points"):
        Search.begin(points=1, margin=MARGIN)


def test_a_search_spends_its_part_of_the_error() -> None:
    whole, half = (Search.begin(points=9, margin=MARGIN, part=part).next() for part in (1.0, 0.5))
    assert whole is not None
    assert half is not None
    assert half.share == pytest.approx(whole.share / 2)


def test_a_half_that_changed_for_certain_is_searched_though_the_other_is_unclear() -> None:
    begun = search(history(9, (2, 0.25)), steps=1)
    step = begun.next()
    assert step is not None
    noise = [0.4, -0.4] * 3
    rounds = [[0.0, math.log(1.25), math.log(1.25) + one] for one in noise]
    said = answer(step, rounds)
    assert said.says is StepVerdict.INCONCLUSIVE
    ended = begun.answered(step, said)
    assert parts(ended) == [(Kind.OPEN, 0, 4), (Kind.INCONCLUSIVE, 4, 8)]
    after = ended.next()
    assert after is not None
    assert after.points == (0, 2, 4)


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

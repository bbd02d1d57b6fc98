"""Searches over histories: what they name, in how many steps, and what they leave open."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.searched import begun, history, judged, search
from waitbench.analysis import rule
from waitbench.analysis.bisection import End, Search, Step


def ended(search: Search) -> tuple[End, tuple[int, int]]:
    return search.end, search.suspects


@given(st.data())
def test_a_culprit_is_found_within_the_steps_that_the_error_is_shared_over(
    data: st.DataObject,
) -> None:
    points = data.draw(st.integers(2, 300))
    culprit = data.draw(st.integers(1, points - 1))
    faster = data.draw(st.booleans())
    size = data.draw(st.floats(0.101, 20))
    costs = [(-cost if faster else cost) for cost in history(points, (culprit, size))]
    found = search(costs, faster=faster)
    assert ended(found) == (End.FOUND, (culprit - 1, culprit))
    assert len(found.steps) <= found.most_steps


@given(st.data())
def test_of_several_culprits_one_is_named(data: st.DataObject) -> None:
    culprits = data.draw(st.sets(st.integers(1, 63), min_size=2, max_size=4))
    found = search(history(64, *((culprit, 0.25) for culprit in culprits)))
    assert found.end is End.FOUND
    assert found.suspects[1] in culprits


@given(st.data())
def test_a_culprit_among_unbuildable_points_is_a_range_that_holds_it(data: st.DataObject) -> None:
    unbuildable = data.draw(st.sets(st.integers(1, 38)))
    culprit = data.draw(st.integers(1, 39))
    found = search(history(40, (culprit, 0.25)), unbuildable=unbuildable)
    before = max(set(range(culprit)) - unbuildable)
    after = min(set(range(culprit, 40)) - unbuildable)
    assert ended(found) == (End.FOUND if after == before + 1 else End.RANGE, (before, after))
    assert len(found.steps) <= found.most_steps


@pytest.mark.parametrize(("rises", "faster"), [((), False), ((), True), (((7, 0.25),), True)])
def test_nothing_changed_or_the_other_way_ends_after_the_ends(
    rises: tuple[tuple[int, float], ...], faster: bool
) -> None:
    found = search(history(256, *rises), faster=faster)
    assert (found.end, len(found.steps), found.next()) == (End.NO_CHANGE, 1, None)


@given(st.integers(20, 80))
def test_a_ramp_names_no_commit(steps: int) -> None:
    found = search(history(90, *((at, 0.01) for at in range(5, 5 + steps))))
    assert (found.end, found.next()) == (End.OPEN, None)


def test_a_culprit_on_a_ramp_is_named() -> None:
    found = search(history(64, (40, 0.25), *((at, 0.002) for at in range(64))))
    assert ended(found) == (End.FOUND, (39, 40))


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_an_inconclusive_step_leaves_the_search_open_and_names_nobody(steps: int) -> None:
    so_far = search(history(9, (5, 0.25)), steps=steps)
    assert so_far.next() is not None
    stopped = so_far.and_then(Step(rounds=30))
    assert (stopped.end, stopped.next()) == (End.OPEN, None)


@pytest.mark.long
@pytest.mark.parametrize("rise", [0.0, 0.25])
@pytest.mark.parametrize("bimodal", [0.0, 0.1])
def test_noise_misleads_a_whole_search_as_seldom_as_promised(rise: float, bimodal: float) -> None:
    noise, wrong, named, searches = random.Random(3), 0, 0, 200
    costs = history(64, (20, rise))
    for _ in range(searches):
        so_far = begun(64)
        while points := so_far.next():
            rounds = [
                [
                    costs[point] + noise.gauss(0, 0.05) + math.log(3) * (noise.random() < bimodal)
                    for point in points
                ]
                for _ in range(30)
            ]
            so_far = so_far.and_then(judged(so_far, points, rounds))
        named += so_far.end is End.FOUND
        wrong += so_far.end is End.FOUND and (not rise or so_far.suspects != (19, 20))
    assert wrong / searches <= rule.ALPHA
    if rise and not bimodal:
        assert named >= 0.95 * searches

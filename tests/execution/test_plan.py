"""The order of runs."""

from collections import Counter
from itertools import pairwise

import pytest

from waitbench.engines.selection import select
from waitbench.execution import plan


@pytest.mark.parametrize("before", [0, 1, 5])
@pytest.mark.parametrize("revisions", range(2, 8))
def test_places_and_predecessors_are_balanced_over_a_cycle(revisions: int, before: int) -> None:
    labels = "abcdefg"[:revisions]
    cycle = revisions * (1 + revisions % 2)
    numbers = range(before * cycle + 1, (before + 1) * cycle + 1)
    rounds = [plan.balanced(labels, number) for number in numbers]
    again = [plan.balanced(labels, number) for number in numbers]
    assert again == rounds, "nothing but the number and the labels decides"
    places = Counter((label, place) for order in rounds for place, label in enumerate(order))
    assert set(places.values()) == {cycle // revisions}
    assert len(places) == revisions**2
    follows = Counter(pair for order in rounds for pair in pairwise(order))
    assert set(follows.values()) == {cycle // revisions}
    assert len(follows) == revisions * (revisions - 1), "each follows each other"


def test_the_order_of_two_is_drawn_for_each_comparison_and_does_not_just_alternate() -> None:
    first = {
        seed: "".join(plan.balanced("ab", number, seed)[0] for number in range(1, 31))
        for seed in map(str, range(20))
    }
    assert len(set(first.values())) == len(first)
    assert not set(first.values()) & {"ab" * 15, "ba" * 15}
    assert {seed: "".join(sorted(each)) for seed, each in first.items()} == dict.fromkeys(
        first, "a" * 15 + "b" * 15
    )


def test_a_warm_up_is_no_longer_than_that_of_the_gate() -> None:
    (idle,) = select(["partitioned-idle"], ["idle=60"])
    assert idle.for_warm_up().expected_s == idle.shortened().expected_s < idle.expected_s
    (brief,) = select(["partitioned-idle"], ["idle=0.1"])
    assert brief.for_warm_up() is brief

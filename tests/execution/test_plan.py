"""What runs, and in which order."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from waitbench.engines.selection import select
from waitbench.execution import plan
from waitbench.model.scenario import CurvePoint, Scenario

ONE, TWO, THREE = (Scenario(name=name) for name in ("one", "two", "three"))


@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 3))
def test_every_round_runs_every_revision_once(revisions: int, rounds: int, count: int) -> None:
    labels = [f"r{number}" for number in range(revisions)]
    chosen = (ONE, TWO, THREE)[:count]
    runs = plan.schedule(chosen, labels, rounds)
    numbers = [(scenario.name, number) for scenario in chosen for number in range(rounds + 1)]
    assert len(runs) == len(numbers) * revisions
    for place, name_and_number in enumerate(numbers):
        one_round = runs[place * revisions : (place + 1) * revisions]
        assert {(run.scenario.name, run.round) for run in one_round} == {name_and_number}, (
            "close together in time"
        )
        assert sorted(run.label for run in one_round) == labels
        assert [run.position for run in one_round] == list(range(revisions))


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


def test_what_is_missing_keeps_warm_ups_only_where_something_is_left() -> None:
    done = {("one", label, number) for label in "ab" for number in (1, 2)} | {("two", "a", 1)}
    left = plan.schedule([ONE, TWO], ["a", "b"], 2, done)
    assert [(run.scenario.name, run.label, run.round) for run in left] == [
        ("two", "a", 0), ("two", "b", 0), ("two", "b", 1), ("two", "a", 2), ("two", "b", 2),
    ]  # fmt: skip
    left = plan.schedule([ONE], ["a", "b"], 1, {("one", "a", 1)})
    assert [(run.label, run.round) for run in left] == [("b", 0), ("b", 1)]


def test_a_warm_up_is_no_longer_than_that_of_the_gate() -> None:
    (idle,) = select(["partitioned-idle"], ["idle=60"])
    lasting = {run.round: run.scenario.expected_s for run in plan.schedule([idle], "ab", 2)}
    assert lasting == {0: idle.shortened().expected_s, 1: idle.expected_s, 2: idle.expected_s}
    (brief,) = select(["partitioned-idle"], ["idle=0.1"])
    assert all(run.scenario is brief for run in plan.schedule([brief], "ab", 2))


def test_the_values_of_a_scan_take_turns_within_each_round() -> None:
    values = [
        replace(
            ONE,
            name=f"one@n={value}",
            scan=CurvePoint(scenario="one", parameter="n", value=value),
        )
        for value in (1, 2, 4)
    ]
    runs = plan.schedule([*values, TWO], ["a", "b"], 6)
    of_scan = [run for run in runs if run.scenario.scan]
    assert runs[: len(of_scan)] == tuple(of_scan), "another scenario comes after all of them"
    firsts: Counter[str] = Counter()
    for number in range(7):
        one_round = [run for run in of_scan if run.round == number]
        assert one_round == of_scan[number * 6 : number * 6 + 6]
        assert Counter(run.scenario.name for run in one_round) == {it.name: 2 for it in values}
        firsts[one_round[0].scenario.name] += number > 0
    assert set(firsts.values()) == {2}

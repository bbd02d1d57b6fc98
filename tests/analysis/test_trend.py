"""Steps along a history: where they are, how sure, and that there are none where nothing is."""

import math

import pytest

from tests.analysis.made_sittings import between_of, join, made, tracked
from waitbench.analysis.network import Network
from waitbench.analysis.sittings import Sitting
from waitbench.analysis.trend import steps


def network(costs: list[float], name: str = "") -> Network:
    sittings = tracked(costs, name=name)
    return join(sittings, "r0", between_of([sittings]))


def order(number: int) -> list[str]:
    return [f"r{at}" for at in range(number)]


def level(revisions: int, *rises: tuple[int, float]) -> list[float]:
    return [
        math.fsum(math.log1p(rise) for place, rise in rises if place <= number)
        for number in range(revisions)
    ]


def test_a_step_is_placed_and_measured_although_every_night_is_another_machine() -> None:
    (found,) = steps(network(level(40, (17, 0.2))), order(40))
    assert (found.before, found.after) == ("r16", "r17")
    assert found.ratio.low is not None and found.ratio.high is not None
    assert 1.05 < found.ratio.low < 1.2 < found.ratio.high
    assert not found.provisional


def test_several_steps_up_and_down_are_found_in_order() -> None:
    found = steps(network(level(60, (11, 0.3), (30, -0.25), (47, 0.4))), order(60))
    assert [step.after for step in found] == ["r11", "r30", "r47"]
    assert [step.ratio.value for step in found] == pytest.approx([1.3, 0.75, 1.4], rel=0.08)


@pytest.mark.parametrize("trial", range(20))
def test_nothing_is_claimed_where_nothing_changed(trial: int) -> None:
    assert steps(network(level(30), f"{trial}"), order(30)) == ()


def test_what_is_within_the_margin_is_no_step() -> None:
    sittings = [made(f"{n}", {"r0": 0.0, "r1": 0.03}, noise=0.001) for n in range(5)]
    known = join(sittings, "r0", between_of([sittings]))
    assert steps(known, order(2)) == ()
    (found,) = steps(known, order(2), margin=0.01)
    assert found.ratio.count == 5


def test_a_step_at_the_end_is_provisional_until_another_sitting_has_it() -> None:
    costs = level(20, (19, 0.5))
    sittings = tracked(costs)
    (found,) = steps(join(sittings, "r0", between_of([sittings])), order(20))
    assert (found.after, found.provisional) == ("r19", True)
    sittings.append(made("again", {"r18": costs[18], "r19": costs[19]}, noise=0.05))
    (found,) = steps(join(sittings, "r0", between_of([sittings])), order(20))
    assert (found.after, found.provisional) == ("r19", False)


def test_revisions_that_are_not_in_the_network_are_passed_over() -> None:
    known = network(level(20, (10, 0.3)))
    (found,) = steps(known, ["strange", *order(20)[:10], "other", *order(20)[10:]])
    assert (found.before, found.after) == ("r9", "r10")
    assert steps(known, ["r3"]) == steps(known, []) == ()


def found_on(sittings: list[Sitting], revisions: int) -> list[tuple[str, bool]]:
    """The steps, each with whether it is provisional."""
    known = join(sittings, "r0", between_of([sittings]))
    return [(step.after, step.provisional) for step in steps(known, order(revisions))]


@pytest.mark.parametrize("off", [0.14, -0.14])
@pytest.mark.parametrize("nights", [1, 3, 15, 25])
def test_an_anchor_that_costs_otherwise_on_another_machine_is_no_step(
    nights: int, off: float
) -> None:
    before = ["a"] * (28 - nights)
    for trial in range(5):
        sittings = tracked(
            level(29), name=f"{trial}", machines=[*before, "b"], anchor_off={"b": off}
        )
        assert found_on(sittings, 29) == []


def test_a_step_that_another_machine_sees_both_sides_of_is_found_and_confirmed() -> None:
    sittings = tracked(level(40, (30, 0.2)), machines=["a"] * 20 + ["b"], anchor_off={"b": 0.14})
    assert found_on(sittings, 40) == [("r30", False)]


def test_a_step_on_the_night_of_a_change_rests_on_that_night_alone_until_it_is_repeated() -> None:
    costs = level(40, (20, 0.4))
    sittings = tracked(costs, machines=["a"] * 19 + ["b"], anchor_off={"b": 0.14})
    assert found_on(sittings, 40) == [("r20", True)]
    # That of the other machine tells of what was before, and of nothing that came after.
    old = made("old", {"r18": costs[18], "r19": costs[19]}, machine="a")
    assert found_on([*sittings, old], 40) == [("r20", True)]
    again = made("again", {"r19": costs[19], "r20": costs[20]}, noise=0.05, machine="a")
    assert found_on([*sittings, again], 40) == [("r20", False)]


def test_machines_that_take_turns_find_a_step_together() -> None:
    sittings = tracked(level(40, (20, 0.2)), machines=["a", "b"] * 20, anchor_off={"b": 0.14})
    assert found_on(sittings, 40) == [("r20", False)]


def test_conditions_of_which_none_holds_two_neighbours_tell_of_no_step() -> None:
    costs = {"r0": 0.0, "r1": 0.0, "r2": 0.5}
    pairs = [("a", ("r0", "r2")), ("b", ("r0", "r1")), ("c", ("r0", "r2"))]
    sittings = [
        made(machine, {name: costs[name] for name in pair}, machine=machine, noise=0.001)
        for machine, pair in pairs
    ]
    # Nobody measured r1 beside r2, on any machine.
    assert found_on(sittings, 3) == []
    assert found_on([sittings[1]], 3) == []
    assert found_on([sittings[0], sittings[2]], 3) == [("r2", False)]
    assert steps(join(sittings, "r0", between_of([sittings])), ["r1", "r2"]) == ()

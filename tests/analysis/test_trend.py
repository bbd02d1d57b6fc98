"""Steps along a history: where they are, how sure, and that there are none where nothing is."""

import math

import pytest

from tests.analysis.made_sittings import between_of, join, made, tracked
from waitbench.analysis.network import Network
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

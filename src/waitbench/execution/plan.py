"""What runs, and in which order. Pure: no clock, no files."""

import random
from collections.abc import Collection, Sequence
from typing import TypeVar

from waitbench.model.run import WARM_UP, PlannedRun
from waitbench.model.scenario import Scenario

_Contestant = TypeVar("_Contestant")


def schedule(
    scenarios: Sequence[Scenario],
    labels: Sequence[str],
    rounds: int,
    done: Collection[tuple[str, str, int]] = (),
    seed: str = "",
) -> tuple[PlannedRun, ...]:
    """Every run of a comparison, in order, without those ``done``: scenario, label and round.

    Scenarios one after the other; within each a warm-up round and then ``rounds`` rounds; within
    each round every revision once, in balanced order (``in_turn``). The scenarios of one scan take
    turns: each round has all of them, in such an order, too. So a drift of the machine hits
    all revisions alike, and none is always the one that runs after a noisy other. There is a
    warm-up only of what is still to be measured.
    """
    left = [
        run
        for group in _groups(scenarios)
        for number in range(WARM_UP, rounds + 1)
        for scenario in in_turn(group, number, seed)
        for run in one_round(scenario, labels, number, seed=seed)
        if (run.scenario.name, run.label, run.round) not in done
    ]
    timed = {(run.scenario.name, run.label) for run in left if run.round != WARM_UP}
    return tuple(run for run in left if (run.scenario.name, run.label) in timed)


def _groups(scenarios: Sequence[Scenario]) -> list[list[Scenario]]:
    """The scenarios, those of one scan together, in the order of the first of each."""
    groups: dict[object, list[Scenario]] = {}
    for one in scenarios:
        groups.setdefault(one.scan.curve if one.scan else one.name, []).append(one)
    return list(groups.values())


def one_round(
    scenario: Scenario, labels: Sequence[str], number: int, later: int = 0, seed: str = ""
) -> tuple[PlannedRun, ...]:
    """Every revision once, in the order of the round that is so much later than this one."""
    scenario = scenario.warmed_up() if number == WARM_UP else scenario
    return tuple(
        PlannedRun(scenario=scenario, label=label, round=number, position=position)
        for position, label in enumerate(in_turn(labels, number + later, seed))
    )


def in_turn(contestants: Sequence[_Contestant], number: int, seed: str = "") -> list[_Contestant]:
    """The order of round ``number``: a row of a Williams design, of contestants in drawn places.

    E. Williams, "Experimental designs balanced for the estimation of residual effects of
    treatments", Australian Journal of Scientific Research A 2, 1949. One row goes to and fro, 0, 1,
    n - 1, 2, n - 2 …, so that no two steps in it are alike; the others are that row with a number
    added to all, and, as half of the steps are missing for an odd n, their mirror images. Over a
    cycle of n rounds (2 n for an odd n), the first of which is round 1, each contestant has each
    place, and follows each other, equally often. Neighbouring rounds begin with neighbouring
    contestants, and for an odd n every other one is a mirror image: what is not a whole cycle is
    nearly balanced, too.

    Each cycle draws anew which contestant has which place of the design, so that nothing that comes
    at regular times always hits the same one. ``seed`` differs between comparisons, and its result
    files have it: the moment of its start. The same seed and number have the same order.
    """
    count = len(contestants)
    cycle = count * (1 + count % 2)
    drawn = random.Random(f"{seed} {(number - 1) // cycle}").sample(contestants, count)
    row = [(place + 1) // 2 if place % 2 else -place // 2 for place in range(count)]
    if number % 2:
        # For an even n the mirror image is one of the rows.
        row.reverse()
    return [drawn[(number + step - row[0]) % count] for step in row]

"""Plans runs and their order. Pure: no clock, no files."""

import random
from collections.abc import Collection, Sequence
from typing import TypeVar

from waitbench.model.run import WARM_UP, PlannedRun
from waitbench.model.scenario import Scenario

_Item = TypeVar("_Item")


def schedule(
    scenarios: Sequence[Scenario],
    labels: Sequence[str],
    rounds: int,
    done: Collection[tuple[str, str, int]] = (),
    seed: str = "",
) -> tuple[PlannedRun, ...]:
    """Plans a comparison, without the runs ``done``: scenario, label and round.

    Scenarios follow each other, those of a scan take turns; each has a warm-up and then ``rounds``
    rounds, in balanced order (``in_turn``). So a drift of the machine hits all revisions alike, and
    none always runs after a noisy other. Only what is still to be measured is warmed up.
    """
    groups: dict[object, list[Scenario]] = {}
    for scenario in scenarios:
        curve = scenario.scan.curve if scenario.scan else scenario.name
        groups.setdefault(curve, []).append(scenario)
    left = [
        run
        for group in groups.values()
        for number in range(WARM_UP, rounds + 1)
        for scenario in in_turn(group, number, seed)
        for run in one_round(scenario, labels, number, seed=seed)
        if (run.scenario.name, run.label, run.round) not in done
    ]
    timed = {(run.scenario.name, run.label) for run in left if run.round != WARM_UP}
    return tuple(run for run in left if (run.scenario.name, run.label) in timed)


def one_round(
    scenario: Scenario, labels: Sequence[str], number: int, later: int = 0, seed: str = ""
) -> tuple[PlannedRun, ...]:
    """Plans one run of each revision, in the order of the round ``later`` rounds on."""
    scenario = scenario.for_warm_up() if number == WARM_UP else scenario
    return tuple(
        PlannedRun(scenario=scenario, label=label, round=number, position=position)
        for position, label in enumerate(in_turn(labels, number + later, seed))
    )


def in_turn(items: Sequence[_Item], number: int, seed: str = "") -> list[_Item]:
    """Orders items for round ``number`` by a Williams design, whose labels are drawn.

    E. Williams, "Experimental designs balanced for the estimation of residual effects of
    treatments", Australian Journal of Scientific Research A 2, 1949. One row is 0, 1, n-1, 2, n-2,
    …, in which no two steps are alike; the others are that row with a number added and, for an odd
    n, their mirror images. Over a cycle of n rounds (2 n for an odd n), which begins with round 1,
    each item has each position, and follows each other, equally often. Neighbouring rounds begin
    with neighbouring items, and for an odd n every other round is mirrored, so that part of a cycle
    is nearly balanced, too.

    Labels are drawn anew for each cycle, so that periodic disturbances do not always hit the same
    item. ``seed`` is the moment at which a comparison started, which its result files have. The
    same seed and number always have the same order.
    """
    count = len(items)
    cycle = count * (1 + count % 2)
    drawn = random.Random(f"{seed} {(number - 1) // cycle}").sample(items, count)
    row = [(place + 1) // 2 if place % 2 else -place // 2 for place in range(count)]
    if number % 2:
        # For an even n the mirror image is one of the rows.
        row.reverse()
    return [drawn[(number + step - row[0]) % count] for step in row]

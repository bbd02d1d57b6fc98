"""Plans runs and their order. No I/O, no clock."""

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
    """Plans the runs of a comparison that are not ``done``: scenario, label and round of each.

    Scenarios follow each other, except those of a scan, which alternate. Each has a warm-up and
    then ``rounds`` rounds, in balanced order: a drift of the machine reaches all revisions alike,
    and none always runs after the same other. Revisions without runs left are not warmed up.
    """
    groups: dict[object, list[Scenario]] = {}
    for scenario in scenarios:
        curve = scenario.scan.curve if scenario.scan else scenario.name
        groups.setdefault(curve, []).append(scenario)
    planned = [
        run
        for group in groups.values()
        for number in range(WARM_UP, rounds + 1)
        for scenario in balanced(group, number, seed)
        for run in one_round(
            scenario.for_warm_up() if number == WARM_UP else scenario, labels, number, seed=seed
        )
        if (run.scenario.name, run.label, run.round) not in done
    ]
    measured = {(run.scenario.name, run.label) for run in planned if run.round != WARM_UP}
    return tuple(run for run in planned if (run.scenario.name, run.label) in measured)


def one_round(
    scenario: Scenario, labels: Sequence[str], number: int, later: int = 0, seed: str = ""
) -> tuple[PlannedRun, ...]:
    """Plans a run of each revision; ``later`` takes the order of a round so many rounds later.

    The baseline is warmed up first: its run shows other programs' load before a candidate's.
    """
    order = labels if number == WARM_UP else balanced(labels, number + later, seed)
    return tuple(
        PlannedRun(scenario=scenario, label=label, round=number, position=position)
        for position, label in enumerate(order)
    )


def balanced(items: Sequence[_Item], number: int, seed: str = "") -> list[_Item]:
    """Orders n items for round ``number`` by a Williams design.

    E. Williams, "Experimental designs balanced for the estimation of residual effects of
    treatments", Australian Journal of Scientific Research A 2, 1949. The first row is 0, 1, n-1, 2,
    n-2, …, whose steps 1, -2, 3, … all differ; other rows add a number to it, modulo n, and, for an
    odd n, are also reversed. In a cycle of n rounds (2 n for an odd n), which begins with round 1,
    each item has each position, and follows each other item, equally often. Adjacent rounds begin
    with adjacent items, and for an odd n every other round is reversed, so that a part of a cycle
    is nearly balanced, too.

    Each cycle assigns the items to the numbers at random, so that a periodic disturbance does not
    always reach the same item. ``seed`` is the time at which a comparison started, which is in its
    result files: the same seed and round give the same order.
    """
    count = len(items)
    cycle = count * (1 + count % 2)
    shuffled = random.Random(f"{seed} {(number - 1) // cycle}").sample(items, count)
    row = [(place + 1) // 2 if place % 2 else -place // 2 for place in range(count)]
    if number % 2:
        # For an even n, the reversed row is one of the rows.
        row.reverse()
    return [shuffled[(number + step - row[0]) % count] for step in row]

"""The order of runs. No I/O, no clock."""

import random
from collections.abc import Sequence
from typing import TypeVar

from waitbench.model.run import PlannedRun
from waitbench.model.scenario import Scenario

_Item = TypeVar("_Item")


def one_round(
    scenario: Scenario, labels: Sequence[str], number: int, place: int = 0, seed: str = ""
) -> tuple[PlannedRun, ...]:
    """Plans a run of each revision, in an order that depends on the place of the scenario."""
    # Whole cycles, so that each place has orders of its own.
    order = balanced(labels, number + 2 * len(labels) * place, seed)
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

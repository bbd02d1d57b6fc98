"""Costs that were made up: a line is found as it is, and what is not a line is refused."""

import random
from collections.abc import Callable

import pytest

from waitbench.analysis.scan import fit, off_line

VALUES = [2.0**power for power in range(13)]
TRIALS = 200

Cost = Callable[[float], float]


def a_line(value: float) -> float:
    return 0.02 + 0.00005 * value


def noisy(
    cost: Cost, seed: int, *, rounds: int = 5, noise: float = 0.05, rare: float = 0.0
) -> list[list[float]]:
    """Rounds that vary as wholes and one by one; some runs cost twice as much."""
    chance = random.Random(seed)
    found = []
    for _ in range(rounds):
        level = 1 + chance.gauss(0, noise)
        found.append(
            [
                cost(value) * level * (1 + chance.gauss(0, noise)) * (1 + (chance.random() < rare))
                for value in VALUES
            ]
        )
    return found


def refused(cost: Cost, **how: float) -> int:
    """How many of the trials are not a line."""
    made = (noisy(cost, seed, **how) for seed in range(TRIALS))  # type: ignore[arg-type]
    return sum(off_line(VALUES, rounds) is not None for rounds in made)


@pytest.mark.parametrize("rounds", [2, 3, 5, 10])
def test_a_line_is_seldom_refused_by_chance(rounds: int) -> None:
    assert refused(a_line, rounds=rounds) <= 2
    assert refused(a_line, rounds=rounds, noise=0.15) <= 2


def test_a_line_is_seldom_refused_where_some_runs_cost_twice_as_much() -> None:
    assert refused(a_line, rare=0.1) <= 0.05 * TRIALS


@pytest.mark.parametrize(
    "cost",
    [
        pytest.param(lambda n: a_line(n) + 4e-8 * n**2, id="square"),
        pytest.param(lambda n: a_line(n) + 0.1 * (n >= 64), id="step"),
        pytest.param(lambda n: min(0.02 + 0.002 * n, 1.0), id="wall"),
        pytest.param(lambda n: 1 - 1 / (1.02 + 0.002 * n), id="saturating"),
    ],
)
@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_what_is_not_a_line_is_refused(cost: Cost, rounds: int) -> None:
    assert refused(cost, rounds=rounds) == TRIALS


def test_the_value_whose_cost_is_off_most_is_named() -> None:
    costs = [a_line(value) * (1.5 if value == 64 else 1) for value in VALUES]
    assert off_line(VALUES, [costs] * 3) == 64


def test_c_is_found_although_the_last_value_costs_ten_times_as_much() -> None:
    lines = [fit(VALUES, costs) for costs in noisy(a_line, 1, rounds=200)]
    assert sum(constant for _, constant in lines) / 200 == pytest.approx(0.02, rel=0.02)
    assert sum(slope for slope, _ in lines) / 200 == pytest.approx(0.00005, rel=0.02)

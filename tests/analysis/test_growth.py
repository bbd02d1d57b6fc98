"""How costs grow that were made up: lines are found, and what is no line is named."""

import random
from collections.abc import Callable, Sequence

import pytest

from waitbench.analysis.growth import Shape, growth, line, saturating

VALUES = [2.0**power for power in range(13)]
NOISE = 0.04

Cost = Callable[[float], float]


def a_line(value: float) -> float:
    return 0.02 + 0.00005 * value


def a_square(value: float) -> float:
    return a_line(value) + 4e-8 * value**2


def a_step(value: float) -> float:
    return 0.02 + 0.00002 * value + (0.1 if value >= 64 else 0.0)


def a_wall(value: float) -> float:
    return min(0.02 + 0.002 * value, 1.0)


def a_sleeper(value: float) -> float:
    passes = 0.02 + 0.002 * value
    return passes / (1 + passes)


def a_sleeper_with_a_square(value: float) -> float:
    passes = 0.02 + 0.002 * value + 4e-5 * value**2
    return passes / (1 + passes)


def a_bend(value: float) -> float:
    return 0.001 + 0.0001 * value / (1 + value / 1500)


def noisy(cost: Cost, rounds: int = 5, seed: int = 1, noise: float = NOISE) -> list[list[float]]:
    """Rounds that vary as wholes and one by one; nothing costs more than the core there is."""
    chance = random.Random(seed)
    found = []
    for _ in range(rounds):
        level = 1 + chance.gauss(0, noise / 2)
        found.append([min(cost(v) * level * (1 + chance.gauss(0, noise)), 1.0) for v in VALUES])
    return found


@pytest.mark.parametrize(
    ("cost", "shape"),
    [
        (a_line, Shape.LINE),
        (a_square, Shape.CURVE_UP),
        (a_step, Shape.STEP),
        (a_wall, Shape.WALL),
        (a_sleeper, Shape.SATURATING),
        (a_sleeper_with_a_square, Shape.CURVE_UP),
        (a_bend, Shape.CURVE_DOWN),
    ],
)
@pytest.mark.parametrize("rounds", [1, 5])
def test_each_shape_is_named_in_ten_of_ten(cost: Cost, shape: Shape, rounds: int) -> None:
    noise = NOISE if rounds > 1 else 0.03
    found = [growth(VALUES, noisy(cost, rounds, seed, noise)).shape for seed in range(10)]
    assert found == [shape] * 10


def test_a_wall_and_a_step_are_where_they_begin() -> None:
    wall = growth(VALUES, noisy(a_wall, noise=0.02))
    assert wall.at is not None
    assert VALUES[wall.at] == 512
    assert wall.tried == wall.at
    step = growth(VALUES, noisy(a_step, noise=0.02))
    assert step.at is not None
    assert VALUES[step.at] == 64


def test_the_power_of_a_square_is_about_two_where_it_dominates() -> None:
    found = growth(VALUES, noisy(lambda value: 0.001 + 4e-8 * value**2, noise=0.02))
    assert found.power == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize(("fit", "cost"), [(line, a_line), (saturating, a_sleeper)])
def test_a_line_without_noise_is_found_exactly(
    fit: Callable[[Sequence[float], Sequence[float]], tuple[float, float]], cost: Cost
) -> None:
    constant, slope = fit(VALUES, [cost(value) for value in VALUES])
    slopes: dict[Cost, float] = {a_line: 0.00005, a_sleeper: 0.002}
    assert constant == pytest.approx(0.02, rel=1e-6)
    assert slope == pytest.approx(slopes[cost], rel=1e-6)


def test_what_a_worker_costs_is_found_although_the_last_value_costs_a_hundred_times_as_much() -> (
    None
):
    found = [line(VALUES, one) for one in noisy(a_line, 200)]
    assert sum(constant for constant, _ in found) / 200 == pytest.approx(0.02, rel=0.02)
    assert sum(slope for _, slope in found) / 200 == pytest.approx(0.00005, rel=0.02)


def test_where_nothing_is_a_line_nothing_is_fitted() -> None:
    assert growth(VALUES, noisy(a_square)).fit is None
    assert growth(VALUES, noisy(a_step)).fit is None
    assert growth(VALUES, noisy(a_line)).fit is line
    assert growth(VALUES, noisy(a_sleeper)).fit is saturating


def test_a_cost_that_is_nothing_at_all_is_a_line() -> None:
    found = growth(VALUES, [[0.0] * len(VALUES)] * 3)
    assert found.shape is Shape.LINE


@pytest.mark.parametrize(("values", "rounds"), [([1.0, 2.0], [[1.0, 2.0]]), (VALUES, [])])
def test_two_values_are_no_curve(values: list[float], rounds: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="three values and a round"):
        growth(values, rounds)

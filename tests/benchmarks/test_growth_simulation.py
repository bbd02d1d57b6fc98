"""The simulation of curves, as small as it can be: what its kept output says does not vanish."""

from collections import Counter

import pytest

from benchmarks.growth_simulation import COSTS, NOISES, SCANS, describe, simulated
from waitbench.analysis.growth import Shape, growth

TRIALS = 20


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("noise", NOISES)
def test_a_square_is_named_and_a_line_is_not_called_one(scan: str, noise: str) -> None:
    values, rounds = SCANS[scan]

    def shapes(name: str) -> list[Shape]:
        cost, _ = COSTS[name]
        return [
            growth(values, simulated(cost, values, rounds, noise, seed)).shape
            for seed in range(TRIALS)
        ]

    assert shapes("trial: square") == [Shape.CURVE_UP] * TRIALS
    assert shapes("trial: sound").count(Shape.CURVE_UP) == 0
    assert shapes("line").count(Shape.CURVE_UP) == 0


def test_noise_is_as_large_as_it_says_and_goes_on_where_a_machine_drifts() -> None:
    rows = simulated(lambda _: 1e-3, [float(n) for n in range(4000)], 1, "15 %", 1)
    mean = sum(rows[0]) / 4000
    assert sum((one / mean - 1) ** 2 for one in rows[0]) / 4000 == pytest.approx(0.15**2, rel=0.1)


def test_a_row_says_what_it_was_taken_for() -> None:
    found = Counter({Shape.LINE: 19, Shape.STEP: 1})
    assert describe("line", "3 %", found, [Shape.LINE]).split() == [
        "line", "3", "%", "95.0%", "step", "5.0%",
    ]  # fmt: skip

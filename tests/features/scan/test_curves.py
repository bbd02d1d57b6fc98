"""Records of a scan -> curves with their lines, where the costs are on one."""

import random
from collections.abc import Callable

import pytest

from tests.criteria import parse
from tests.features.scan.scanned import VALUES, scan_records
from tests.records import outcome
from waitbench.analysis import gate
from waitbench.features.scan.curves import off_line, scans
from waitbench.model.metrics import METRICS
from waitbench.model.run import TIMED_OUT
from waitbench.model.verdicts import Verdict

COSTS = {"a": lambda n: 0.02 + 0.0002 * n, "b": lambda n: 0.01 + 0.0003 * n}


def test_each_revision_has_a_constant_and_a_slope_with_their_intervals() -> None:
    (scanned,) = scans(scan_records(COSTS))
    assert (scanned.scenario, scanned.parameter, scanned.rounds) == ("idle", "partitions", 5)
    assert scanned.values == tuple(scanned.curves[0].costs) == VALUES
    for curve, constant, slope in zip(scanned.curves, (0.02, 0.01), (2e-4, 3e-4), strict=True):
        assert curve.off_at is None
        for estimate, true in ((curve.constant, constant), (curve.slope, slope)):
            assert estimate is not None
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.low < true < estimate.high
            assert estimate.value == pytest.approx(true, rel=0.05)
    ratio = scanned.curves[1].slope_ratio
    assert ratio is not None
    assert ratio.value == pytest.approx(1.5, rel=0.03)
    assert scanned.curves[0].slope_ratio is None


def test_what_costs_nothing_without_inputs_has_a_constant_that_is_not_below_zero() -> None:
    """Noise alone would have half of all such lines begin below zero."""
    (scanned,) = scans(scan_records({"a": lambda n: 2e-4 * n - 1e-5}))
    constant, slope = scanned.curves[0].constant, scanned.curves[0].slope
    assert constant is not None
    assert constant.low is not None
    assert constant.value >= 0
    assert constant.low >= 0
    assert slope is not None
    assert slope.value == pytest.approx(2e-4, rel=0.1)


def test_a_value_that_could_not_be_measured_is_left_out() -> None:
    records = scan_records(COSTS)
    records[-1].measurements = [run for run in records[-1].measurements if run.label == "a"]
    records[-1].add(outcome("b", 1, TIMED_OUT, message="still running after 30 s"))
    (scanned,) = scans(records)
    whole, short = scanned.curves
    assert set(whole.costs) - set(short.costs) == {1024}
    assert short.slope is not None


def test_a_square_fails_by_each_value_where_it_costs_and_passes_at_a_small_one() -> None:
    costs = {"a": COSTS["a"], "b": lambda n: 0.02 + 0.0002 * n + 4e-7 * n**2}
    records = scan_records(costs, rounds=18)
    answers = gate.conclude(records, parse(["idle:25%,each"], METRICS)).judgements
    assert answers[-1].verdict is Verdict.SLOWER
    assert answers[2].verdict is Verdict.WITHIN_MARGIN
    assert scans(records)[0].curves[1].off_at == 1024


POWERS = [2.0**power for power in range(13)]
TRIALS = 200

Cost = Callable[[float], float]


def a_line(value: float) -> float:
    return 0.02 + 0.00005 * value


def noisy(
    cost: Cost, seed: int, *, rounds: int = 5, noise: float = 0.05, rare: float = 0.0
) -> list[list[float]]:
    """Rounds that vary as wholes and one by one; some runs cost twice as much."""
    chance = random.Random(seed)
    noisy_rounds = []
    for _ in range(rounds):
        level = 1 + chance.gauss(0, noise)
        noisy_rounds.append(
            [
                cost(value) * level * (1 + chance.gauss(0, noise)) * (1 + (chance.random() < rare))
                for value in POWERS
            ]
        )
    return noisy_rounds


def refused(cost: Cost, **how: float) -> int:
    """The number of trials without a line."""
    made = (noisy(cost, seed, **how) for seed in range(TRIALS))  # type: ignore[arg-type]
    return sum(off_line(POWERS, rounds) is not None for rounds in made)


@pytest.mark.parametrize("rounds", [2, 3, 5, 10])
def test_a_line_is_seldom_refused_by_chance_or_where_some_runs_cost_twice_as_much(
    rounds: int,
) -> None:
    assert refused(a_line, rounds=rounds) <= 2
    assert refused(a_line, rounds=rounds, noise=0.15) <= 2
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
    costs = [a_line(value) * (1.5 if value == 64 else 1) for value in POWERS]
    assert off_line(POWERS, [costs] * 3) == 64

"""The same comparison on several machines: what holds for all, and where they disagree."""

import math
import random
from collections.abc import Sequence

import pytest

from tests.records import make_record
from waitbench.analysis import machines
from waitbench.analysis.machines import AcrossMachines
from waitbench.analysis.sequential import ALPHA
from waitbench.analysis.statistics import Comparison, compare
from waitbench.model.metrics import BY_NAME

CPU, STEADY = BY_NAME["cpu"].key, BY_NAME["steady"].key


def machine(logs: Sequence[float], *, scenario: str = "one", key: str = CPU) -> Comparison:
    """What a machine says whose rounds have ratios of these logarithms."""
    base = [{key: 1.0}] * len(logs)
    new = [{key: math.exp(log)} for log in logs]
    return compare(make_record({"base": base, "new": new}, scenario=scenario))


def only(*of_machines: Comparison) -> AcrossMachines:
    (found,) = machines.across([[one] for one in of_machines])
    return found


def noisy(random_: random.Random, of_machine: float, noise: float, rounds: int) -> Comparison:
    return machine([of_machine + random_.gauss(0, noise) for _ in range(rounds)])


@pytest.mark.long
@pytest.mark.parametrize("number", [3, 5])
@pytest.mark.parametrize(("between", "rounds"), [(0.0, 3), (0.05, 3), (0.05, 5), (0.2, 5)])
def test_the_interval_of_all_machines_holds_the_truth_as_often_as_it_says(
    number: int, between: float, rounds: int
) -> None:
    source = random.Random(f"{number} {between} {rounds}")
    noise = [0.03, 0.1, 0.3, 0.1, 0.03][:number]
    held, trials = 0, 800
    for _ in range(trials):
        pooled = only(
            *(noisy(source, source.gauss(0, between), each, rounds) for each in noise)
        ).pooled
        assert pooled.low is not None
        assert pooled.high is not None
        held += pooled.low <= 1 <= pooled.high
    assert held / trials >= 0.93


@pytest.mark.long
@pytest.mark.parametrize(("number", "rounds"), [(3, 3), (5, 3), (5, 5)])
def test_machines_that_agree_are_hardly_ever_said_not_to(number: int, rounds: int) -> None:
    source = random.Random(f"{number} {rounds}")
    noise = [0.03, 0.1, 0.3, 0.1, 0.03][:number]
    trials = 800
    wrong = sum(
        only(*(noisy(source, 0, each, rounds) for each in noise)).disagree for _ in range(trials)
    )
    assert wrong / trials <= 0.06


@pytest.mark.long
@pytest.mark.parametrize(
    "rounds_and_noise",
    [((3, 0.1), (30, 0.1)), ((3, 0.1), (30, 0.02)), ((3, 0.1), (3, 0.1), (3, 0.1), (30, 0.045))],
)
def test_machines_whose_gates_stopped_at_different_rounds_agree_as_often_as_is_said(
    rounds_and_noise: Sequence[tuple[int, float]],
) -> None:
    # As one of 32 ratios a pair is asked at a level at which Welch's test errs ten times as often.
    source, allowed, trials = random.Random(repr(rounds_and_noise)), ALPHA / 32, 1_000
    found = [
        only(*(noisy(source, 0, noise, rounds) for rounds, noise in rounds_and_noise)).p_value
        for _ in range(trials)
    ]
    assert sum(p is not None and p <= ALPHA for p in found) / trials <= 0.06
    assert sum(p is not None and p <= allowed for p in found) <= 3 * allowed * trials


def test_machines_that_certainly_differ_disagree_and_the_two_furthest_apart_are_named() -> None:
    near = (0.0, 0.01, -0.01, 0.005, -0.005)
    far = tuple(0.5 + log for log in near)
    found = only(machine(near), machine(far), machine(near[::-1]))
    assert found.disagree
    assert found.apart is not None
    assert found.apart[1] == 1
    # Of machines like these, next to nothing is known.
    assert found.pooled.low is not None
    assert found.pooled.low < 1
    assert found.pooled.count == 3


def test_machines_that_say_the_same_agree() -> None:
    near = (0.0, 0.01, -0.01, 0.005, -0.005)
    found = only(machine(near), machine(near[::-1]))
    assert not found.disagree
    assert found.p_value == pytest.approx(1)


def test_one_error_is_shared_by_all_ratios() -> None:
    # Certain if it is the only question, and not as one of forty.
    one, other = (0.0, 0.02, -0.02, 0.01, -0.01), (0.04, 0.02, 0.06, 0.03, 0.05)
    assert only(machine(one), machine(other)).disagree
    scenarios = [f"scenario {number}" for number in range(40)]
    first = [machine(one, scenario=name) for name in scenarios]
    second = [machine(other, scenario="scenario 0")]
    second += [machine(one[::-1], scenario=name) for name in scenarios[1:]]
    assert not any(found.disagree for found in machines.across([first, second]))


def test_a_machine_with_one_round_counts_but_disagrees_with_nobody() -> None:
    found = only(machine((0.0,)), machine((1.0, 1.1)))
    assert (found.p_value, found.apart) == (None, None)
    assert found.pooled.count == 2


def test_what_only_one_machine_has_is_shown_without_an_interval() -> None:
    found = machines.across([[machine((0.1, 0.2))], []])
    assert [one.ratios[1] for one in found] == [None]
    assert (found[0].pooled.low, found[0].pooled.count) == (None, 1)


def test_ratios_equal_in_all_rounds_divide_by_nothing() -> None:
    found = only(machine((0.1, 0.1)), machine((0.1, 0.1)), machine((0.2, 0.2)))
    assert found.disagree
    assert found.p_value is not None


def test_metrics_come_scenario_by_scenario_in_the_order_of_the_summary() -> None:
    both = [machine((0.1, 0.2), key=STEADY), machine((0.1, 0.2), scenario="two")]
    found = machines.across([both, both])
    assert [(one.scenario, one.metric) for one in found] == [("one", "steady"), ("two", "cpu")]

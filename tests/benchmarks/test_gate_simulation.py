"""Gates on machines that are made up."""

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import stdev

import numpy
import pytest

from benchmarks import gate_simulation
from benchmarks.gate_simulation import BASE, NEW, SCENARIOS, Change, Machine, MadeUp
from waitbench.model.run import PlannedRun

WAITING = next(scenario for scenario in SCENARIOS if scenario.waits and not scenario.works)
STEADY, WAKEUPS = "time_cpu_steady", "wakeups"
NOTHING = gate_simulation.CHANGES["nothing"]
STILL = Machine(noise=lambda _random: 0.0)


def measured(
    machine: Machine, change: Change = NOTHING, *, runs: int = 1, label: str = NEW
) -> list[Mapping[str, float]]:
    """What runs of a scenario that waits give, by turns the first and the second of a round."""
    made = MadeUp(
        machine=machine, change=change, random=numpy.random.default_rng(1), interrupted_at=0
    )
    planned = PlannedRun(scenario=WAITING, label=label, round=1, position=0)
    return [
        made.measure(replace(planned, position=number % 2)).metrics for number in range(2 * runs)
    ]


def logs(machine: Machine, key: str = STEADY) -> list[float]:
    return [math.log(metrics[key]) for metrics in measured(machine, runs=2000)]


@pytest.mark.parametrize("name", ["quiet", "heavy tails (t3)", "skewed", "AR(1) 0.5"])
def test_machines_differ_by_the_shape_of_their_noise_only(name: str) -> None:
    # Others use the machine in a fifth of the rounds, which is a little noise of its own.
    assert stdev(logs(gate_simulation.MACHINES[name])) == pytest.approx(0.107, rel=0.2)


def test_a_change_is_in_a_share_of_the_runs_of_the_candidate_and_in_their_cpu() -> None:
    change = Change(factors={"steady": 15.0}, share=0.2)
    runs = measured(STILL, change, runs=1000)
    hit = [metrics for metrics in runs if metrics[STEADY] > 0.5]
    assert len(hit) / len(runs) == pytest.approx(0.2, abs=0.03)
    assert all(metrics["time_cpu"] > metrics[STEADY] for metrics in hit)
    assert all(metrics[STEADY] < 0.1 for metrics in measured(STILL, change, runs=50, label=BASE))

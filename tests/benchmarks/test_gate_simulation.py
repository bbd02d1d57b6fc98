"""Gates on machines that are made up."""

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean, stdev

import numpy
import pytest

from benchmarks import gate_simulation
from benchmarks.gate_simulation import BASE, NEW, SCENARIOS, Change, Machine, MadeUp, Result
from waitbench.analysis import criteria
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


def test_every_metric_of_a_default_criterion_is_measured() -> None:
    (first, _) = measured(STILL)
    keys = {metric.key for metric in WAITING.metrics}
    assert {one.metric.key for one in criteria.DEFAULTS} & keys <= set(first)


@pytest.mark.parametrize("name", ["quiet", "heavy tails (t3)", "skewed", "AR(1) 0.5"])
def test_machines_differ_by_the_shape_of_their_noise_only(name: str) -> None:
    # Others use the machine in a fifth of the rounds, which is a little noise of its own.
    assert stdev(logs(gate_simulation.MACHINES[name])) == pytest.approx(0.107, rel=0.2)


def test_a_machine_may_have_slow_runs_and_remember_and_favour_the_first_run() -> None:
    slow = logs(replace(STILL, slow=(0.4, 3.0)))
    assert fmean(log > math.log(0.06 * 2) for log in slow) == pytest.approx(0.4, abs=0.03)
    found = numpy.array(logs(gate_simulation.MACHINES["AR(1) 0.5"], WAKEUPS))
    assert numpy.corrcoef(found[1:], found[:-1])[0, 1] == pytest.approx(0.5 * 0.7**2, abs=0.06)
    second = logs(replace(STILL, second=1.03))
    assert {round(b - a, 6) for a, b in zip(second[::2], second[1::2], strict=True)} == {
        round(math.log(1.03), 6)
    }


def test_counts_may_have_two_values_only() -> None:
    values = {metrics[WAKEUPS] for metrics in measured(replace(STILL, two_valued=1.1), runs=50)}
    assert sorted(values) == pytest.approx([900.0, 990.0])


def test_steal_is_a_share_of_the_cpu_that_a_run_used() -> None:
    runs = measured(replace(STILL, steal=0.1), runs=2000)
    shares = [metrics["machine_steal"] / metrics["time_cpu"] for metrics in runs]
    assert fmean(shares) == pytest.approx(0.1, rel=0.05)


def test_a_change_is_in_a_share_of_the_runs_of_the_candidate_and_in_their_cpu() -> None:
    change = Change(factors={"steady": 15.0}, share=0.2)
    runs = measured(STILL, change, runs=1000)
    hit = [metrics for metrics in runs if metrics[STEADY] > 0.5]
    assert len(hit) / len(runs) == pytest.approx(0.2, abs=0.03)
    assert all(metrics["time_cpu"] > metrics[STEADY] for metrics in hit)
    assert all(metrics[STEADY] < 0.1 for metrics in measured(STILL, change, runs=50, label=BASE))


@pytest.mark.parametrize("seed", [2, 3])
def test_a_gate_fails_where_something_rose_even_if_it_was_interrupted(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setitem(gate_simulation.CHANGES, "twice", Change(factors={"wakeups": 2.0}))
    one, other = (gate_simulation.carry_out("quiet", "twice", 10, seed) for _ in range(2))
    assert one == other
    assert (one.outcome, one.failed) == ("fail", frozenset({"wakeups:5%"}))


def test_what_gates_came_to_is_said_in_a_line() -> None:
    failed = Result(outcome="fail", failed=frozenset({"cpu:10%"}), rounds=6, runs=70)
    passed = Result(outcome="pass", failed=frozenset(), rounds=12, runs=130)
    assert gate_simulation.line_of([failed, failed, passed]) == (
        "66.7% fail, 33.3% pass; median 6 rounds, 70 runs; by cpu:10% 2"
    )

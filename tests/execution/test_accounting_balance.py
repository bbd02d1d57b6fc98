"""The parts of a run's CPU time: they add up, none is below zero, and where not, it is said."""

from typing import Any

import pytest

from tests.execution.told import at, child, timing, used, worker
from waitbench.execution.accounting import marks_of, metrics_of
from waitbench.model.run import UNBALANCED

PARTS = tuple(
    f"time_cpu_{part}" for part in ("startup", "steady", "shutdown", "helpers", "launcher")
)


def launcher_run() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A real run of paged output in launcher topology: 0.16.2 with 2 processes of 2 workers.

    The engine's launcher is our child and has loaded the dataflow; its workers are its children,
    and have a device each, which is theirs.
    """
    launched = {"launcher": used(0.02685, 0.003535), "children": [child(3694, 0.586844, 0.366552)]}
    of_launcher = worker(
        3694, loaded=at(0.3, 0.0967, waited=9), first_poll=None, end_of_input=None,
        polls=0, items_in=0, items_out=0, lateness_ns=[], exit=at(2.1, 0.1194, waited=3000),
        helpers=used(0.501, 0.281),
    )  # fmt: skip
    workers = [
        worker(
            pid, loaded=at(0.8, 0.0717, waited=9), first_poll=at(0.9, polled, waited=40),
            end_of_input=at(1.6, ended, waited=5040), exit=at(1.7, exit_s, waited=5050),
            helpers=used(user_s, system_s),
        )
        for pid, polled, ended, exit_s, user_s, system_s in (
            (3696, 0.0861, 0.2948, 0.2973, 0.096176, 0.032622),
            (3700, 0.0849, 0.2287, 0.2376, 0.075861, 0.042845),
        )
    ]  # fmt: skip
    return launched, [of_launcher, *workers]


def test_helpers_of_workers_that_the_engines_launcher_started_are_counted_once() -> None:
    launched, reports = launcher_run()
    metrics = metrics_of(timing(2.2, 0.613694, 0.370087), launched, reports)
    helpers = 0.096176 + 0.032622 + 0.075861 + 0.042845
    assert metrics["time_cpu_helpers"] == pytest.approx(helpers)
    assert metrics["time_cpu_shutdown"] == pytest.approx(0.2973 - 0.2948 + 0.2376 - 0.2287)
    assert metrics["time_cpu_launcher"] == pytest.approx(
        0.030385 + 0.953396 - 0.2973 - 0.2376 - helpers
    )
    assert sum(metrics[part] for part in PARTS) == pytest.approx(metrics["time_cpu"])
    assert marks_of(timing(2.2, 0.613694, 0.370087), launched, reports) == ()


def test_a_run_is_unbalanced_whose_engines_launcher_did_not_wait_for_its_workers() -> None:
    launched, reports = launcher_run()
    alone = {**launched, "children": [child(3694, 0.1, 0.05)]}
    assert marks_of(timing(2.2, 0.126850, 0.053535), alone, reports) == (UNBALANCED,)


def test_a_launcher_is_left_at_least_what_it_saw_of_itself() -> None:
    launched, reports = launcher_run()
    of_launcher, *workers = reports
    # 0.171 s are left for it.
    for seen_s, marks in ((0.17, ()), (0.18, (UNBALANCED,))):
        told = [{**of_launcher, "exit": at(2.1, seen_s, waited=3000)}, *workers]
        assert marks_of(timing(2.2, 0.613694, 0.370087), launched, told) == marks


@pytest.mark.parametrize(
    "odd",
    [
        {"first_poll": at(0.2, -0.1, waited=40)},
        {"first_poll": at(0.2, 0.7, waited=40)},
        {"end_of_input": at(5.2, 0.56, 0.1, waited=5040)},
        {"exit": used(0.57, 0.1)},
        {"helpers": used(0.1)},
        {"helpers": used(float("nan"))},
    ],
)
def test_a_run_is_unbalanced_if_a_part_of_one_worker_is_below_zero(odd: dict[str, Any]) -> None:
    launched = {"launcher": used(0.02), "children": [child(1, 0.56, 0.1), child(2, 3.0, 0.1)]}
    others = [worker(2), worker(3, loaded=None, first_poll=None, end_of_input=None)]
    total = timing(5.5, 3.58, 0.2)
    # The other worker's shutdown of 2.5 s makes all sums positive.
    assert marks_of(total, launched, [worker(1), *others]) == ()
    assert marks_of(total, launched, [worker(1, **odd), *others]) == (UNBALANCED,)


def test_what_readings_lose_by_rounding_is_allowed() -> None:
    launched = {"launcher": used(0.02), "children": [child(1, 0.549991, 0.099992)]}
    assert marks_of(timing(5.5, 0.57, 0.1), launched, [worker(1)]) == ()


def test_what_another_engine_reports_of_processes_that_never_polled_balances() -> None:
    launched = {"launcher": used(0.02), "children": [child(1, 0.5, 0.1)]}
    told: dict[str, Any] = {"pid": 1, "first_poll": None, "end_of_input": None, "totals": {}}
    assert marks_of(timing(5.5, 0.52, 0.1), launched, [told]) == ()


@pytest.mark.parametrize(
    ("total", "marks"),
    [(1.0, ()), (1.019, ()), (1.03, (UNBALANCED,)), (0.97, (UNBALANCED,))],
)
def test_a_run_whose_sums_differ_by_more_than_2_per_cent_is_marked(
    total: float, marks: tuple[str, ...]
) -> None:
    launched = {"launcher": used(0.1), "children": [child(1, 0.8, 0.1)]}
    assert marks_of(timing(1, total, 0, None), launched, []) == marks


def test_five_milliseconds_are_always_allowed() -> None:
    assert marks_of(timing(1, 0.0149, 0, None), {"launcher": used(0.01), "children": []}, []) == ()


def test_the_allowed_difference_grows_with_the_total() -> None:
    launched = {"launcher": used(0.0), "children": [child(1, 10.0, 0.0)]}
    assert marks_of(timing(1, 10.1, 0), launched, []) == ()
    assert marks_of(timing(1, 10.3, 0), launched, []) == (UNBALANCED,)


def test_a_command_adds_up_though_its_counter_ran_on_while_a_hypervisor_had_the_cpu() -> None:
    counted = worker(0, speaks_for_all=True, exit=at(5.3, 0.8, waited=5030))
    launched = {
        "launcher": used(0.02),
        "children": [child(1, 0.75, 0.0)],
        "worker": {**child(1, 0.8, 0.0), "waited_s": 0.7},
    }
    assert marks_of(timing(5.5, 0.77, 0.0), launched, [counted]) == ()
    metrics = metrics_of(timing(5.5, 0.77, 0.0), launched, [counted])
    assert metrics["time_cpu_launcher"] == pytest.approx(0.02 + 0.05)

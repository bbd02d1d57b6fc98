"""Where the CPU time of a run went."""

import pytest

from tests.execution.told import at, child, timing, used, worker
from waitbench.execution.accounting import metrics_of

S = 1_000_000_000
"""A second, in ns."""


def test_the_parts_of_a_cluster_add_up_to_the_whole() -> None:
    launched = {"launcher": used(0.02), "children": [child(1, 0.6, 0.1), child(2, 0.6, 0.1)]}
    metrics = metrics_of(timing(5.5, 1.22, 0.2, 7e6), launched, [worker(1), worker(2)])
    assert metrics["time_cpu_startup"] == pytest.approx(0.2)
    assert metrics["time_cpu_steady"] == pytest.approx(1.0)
    assert metrics["time_cpu_shutdown"] == pytest.approx(0.2)
    assert metrics["time_cpu_launcher"] == pytest.approx(0.02)
    parts = sum(
        metrics[f"time_cpu_{part}"] for part in ("startup", "steady", "shutdown", "launcher")
    )
    assert parts == pytest.approx(metrics["time_cpu"])
    assert metrics["cpu_share_steady"] == pytest.approx(0.2)  # two workers, 0.5 s in 5 s each
    assert metrics["polls_per_item"] == 20
    assert metrics["time_startup"] == pytest.approx(0.2)
    assert metrics["context_switches_voluntary"] == 20


def test_what_the_engines_own_launcher_spends_counts_as_launcher() -> None:
    # One child of ours: the engine's launcher, whose figures include the workers it waited for.
    launched = {"launcher": used(0.02), "children": [child(9, 2.0, 0.5)]}
    metrics = metrics_of(timing(5.5, 2.02, 0.5, 7e6), launched, [worker(1), worker(2)])
    assert metrics["time_cpu_launcher"] == pytest.approx(0.02 + 2.5 - 2 * 0.65)
    parts = sum(
        metrics[f"time_cpu_{part}"] for part in ("startup", "steady", "shutdown", "launcher")
    )
    assert parts == pytest.approx(metrics["time_cpu"])


def test_lateness_is_taken_over_all_workers() -> None:
    launched = {"launcher": used(0), "children": [child(1, 1, 0), child(2, 1, 0)]}
    quick = worker(2, lateness_ns=[[100_000, 95]], lateness_max_ns=100_000)
    metrics = metrics_of(timing(1, 2, 0, None), launched, [worker(1), quick])
    assert metrics["item_latency_p50"] == pytest.approx(0.0001)
    # 99 of the 100 places: 8 % of the way from the last 1 ms to the only 9 ms.
    assert metrics["item_latency_p99"] == pytest.approx(0.00108)
    assert metrics["item_latency_max"] == pytest.approx(0.0091)
    assert metrics["memory_peak_resident"] == 2000, "the launcher's, where hyperfine has none"


def test_a_process_that_polled_nothing_is_no_worker_and_without_workers_there_is_no_split() -> None:
    launched = {"launcher": used(0.01), "children": [child(1, 1, 0)]}
    metrics = metrics_of(
        timing(1, 1.01, 0, None), launched, [worker(1, first_poll=None, end_of_input=None)]
    )
    assert "time_cpu_steady" not in metrics
    assert metrics["time_cpu"] == pytest.approx(1.01)


def test_a_worker_without_a_partition_waits_like_the_others() -> None:
    launched = {"launcher": used(0.02), "children": [child(1, 0.55, 0.1), child(2, 0.35, 0.1)]}
    idle = worker(
        2, first_poll=None, end_of_input=None, polls=0, items_in=0, items_out=0, lateness_ns=[],
        loaded=at(0.15, 0.08, waited=30), exit=at(5.3, 0.33, 0.1, waited=5030),
    )  # fmt: skip
    metrics = metrics_of(timing(5.5, 0.92, 0.2), launched, [worker(1), idle])
    assert metrics["time_cpu_steady"] == pytest.approx(0.5 + 0.35)
    assert metrics["wakeups"] == 5000 + 5000
    assert metrics["time_cpu_launcher"] == pytest.approx(0.02)


def test_an_engines_launcher_that_has_loaded_the_dataflow_is_no_worker() -> None:
    launched = {"launcher": used(0.02), "children": [child(9, 2.0, 0.5)]}
    launcher = worker(
        9, first_poll=None, end_of_input=None, polls=0, items_in=0, items_out=0, lateness_ns=[],
        loaded=at(0.15, 0.08, waited=30), exit=at(5.3, 1.2, 0.1, waited=5030),
    )  # fmt: skip
    workers = [worker(1), worker(2)]
    with_it, without = (
        metrics_of(timing(5.5, 2.02, 0.5), launched, reports)
        for reports in ([*workers, launcher], workers)
    )
    assert with_it == without


def test_a_run_gives_every_metric_by_its_key() -> None:
    # The worker started a program of its own, which wait4 counts as the worker's.
    helped = worker(1, spawned_ns=50_000_000, helpers=used(0.2, 0.05))
    launched = {"launcher": used(0.02), "children": [child(1, 0.8, 0.15)]}
    assert metrics_of(timing(5.5, 0.82, 0.15), launched, [helped]) == pytest.approx(
        {
            "time_wall_clock": 5.5,
            "time_user": 0.82,
            "time_system": 0.15,
            "time_cpu": 0.97,
            "memory_peak_resident": 1000,
            "context_switches_voluntary": 10,
            "context_switches_involuntary": 1,
            "time_cpu_startup": 0.1,
            "time_cpu_steady": 0.5,
            "time_user_steady": 0.4,
            "time_system_steady": 0.1,
            "time_cpu_shutdown": 0.1,
            "time_cpu_helpers": 0.25,
            "time_cpu_launcher": 0.02,
            "time_cpu_running": 0.85,
            "polls": 100,
            "polls_per_item": 20,
            "wakeups": 5000,
            "items_in": 5,
            "items_out": 5,
            "cpu_share_steady": 0.1,
            "time_startup": 0.15,
            "time_shutdown": 0.3,
            "item_latency_p50": 0.001,
            "item_latency_p99": 0.00868,
            "item_latency_max": 0.0091,
        },
        rel=1e-12,
    )


def test_wake_ups_are_those_between_first_poll_and_end_of_input() -> None:
    launched = {"launcher": used(0), "children": [child(1, 1, 0), child(2, 1, 0)]}
    waited = [
        worker(
            pid,
            first_poll=at(0.2, 0.1, waited=10 * pid),
            end_of_input=at(5.2, 0.5, 0.1, waited=1000),
        )
        for pid in (1, 2)
    ]
    metrics = metrics_of(timing(1, 2, 0), launched, waited)
    assert metrics["wakeups"] == 2 * 1000 - 30
    assert metrics["time_user_steady"] == pytest.approx(0.8)
    assert metrics["time_system_steady"] == pytest.approx(0.2)


def test_a_shutdown_lasts_from_the_end_of_input_to_the_end_of_the_last_process() -> None:
    # What runs at the exit after our probe, or waits there, has no reading of the probe's.
    ended = [child(1, 0.8, 0.15, ended_s=5.4), child(2, 0.8, 0.15, ended_s=9.2)]
    launched = {"launcher": used(0.02), "children": ended}
    workers = [worker(pid, exit=at(5.3, 0.55, 0.1, waited=1)) for pid in (1, 2)]
    found = metrics_of(timing(9, 1.6, 0.3), launched, workers)
    assert found["time_shutdown"] == pytest.approx(4)


def test_a_child_that_is_waited_for_at_the_exit_is_in_what_runs_after_start_up() -> None:
    # The probe has had its last word when what was registered before it reaps the child.
    light, heavy = (
        metrics_of(
            timing(5.5, cpu_s + 0.02, 0.1),
            {"launcher": used(0.02), "children": [child(1, cpu_s, 0.1)]},
            [worker(1)],
        )
        for cpu_s in (0.55, 0.75)
    )
    assert heavy["time_cpu_steady"] == light["time_cpu_steady"]
    assert heavy["time_cpu_running"] - light["time_cpu_running"] == pytest.approx(0.2)


def test_a_worker_of_the_engines_own_launcher_ends_with_that() -> None:
    launched = {"launcher": used(0.02), "children": [child(9, 2.0, 0.5, ended_s=6.7)]}
    found = metrics_of(timing(7, 2.02, 0.5), launched, [worker(1), worker(2)])
    assert found["time_shutdown"] == pytest.approx(1.5)
    beside_s = 2.5 - 2 * 0.65
    assert found["time_cpu_running"] == pytest.approx(2 * 0.55 + beside_s), "its launcher, too"


@pytest.mark.parametrize(
    ("field", "absent"),
    [
        ("polls", {"polls", "polls_per_item"}),
        ("items_in", {"items_in"}),
        ("items_out", {"items_out", "polls_per_item"}),
        ("spawned_ns", {"time_startup"}),
        ("lateness_ns", {"item_latency_p50", "item_latency_p99", "item_latency_max"}),
        ("lateness_max_ns", {"item_latency_max"}),
    ],
)
def test_what_the_probe_of_an_engine_does_not_report_is_absent(
    field: str, absent: set[str]
) -> None:
    launched = {"launcher": used(0.02), "children": [child(1, 0.6, 0.1)]}
    whole = metrics_of(timing(5.5, 0.6, 0.1), launched, [worker(1)])
    report = {name: value for name, value in worker(1).items() if name != field}
    metrics = metrics_of(timing(5.5, 0.6, 0.1), launched, [report])
    assert whole.keys() - metrics.keys() == absent
    assert metrics.items() <= whole.items()


def test_a_worker_that_stopped_before_the_end_of_its_input_is_no_worker() -> None:
    launched = {"launcher": used(0.01), "children": [child(1, 1, 0)]}
    metrics = metrics_of(timing(1, 1.01, 0), launched, [worker(1, end_of_input=None)])
    assert "time_cpu_steady" not in metrics


def test_waiting_for_peers_is_no_shutdown() -> None:
    launched = {"launcher": used(0.02), "children": [child(1, 0.8, 0.15), child(2, 0.8, 0.15)]}
    early = worker(2, end_of_input=at(0.3, 0.2, 0.1, waited=50))
    found = metrics_of(timing(6, 1.6, 0.3), launched, [worker(1), early])
    assert found["time_shutdown"] == pytest.approx(0.3)

"""Where the CPU time of a run went."""

from typing import Any

import pytest

from waitbench.execution.accounting import UNBALANCED, marks_of, metrics_of
from waitbench.execution.hyperfine import Timing


def used(user_s: float, system_s: float = 0.0, **more: Any) -> dict[str, Any]:
    return {"user_s": user_s, "system_s": system_s, **more}


def child(pid: int, user_s: float, system_s: float) -> dict[str, Any]:
    more = {"rss_bytes": 1000 * pid, "switches_voluntary": 10, "switches_involuntary": 1, "exit_code": 0}
    return used(user_s, system_s, pid=pid, **more)


def worker(pid: int, **more: Any) -> dict[str, Any]:
    report = {
        "pid": pid, "polls": 100, "items_in": 5, "items_out": 5, "spawned_ns": 0,
        "totals": {}, "first_poll": used(0.1, monotonic_ns=200_000_000), "end_of_input": used(0.5, 0.1, monotonic_ns=5_200_000_000),
        "exit": used(0.55, 0.1), "lateness_ns": [[1_000_000, 4], [9_000_000, 1]], "lateness_max_ns": 9_100_000,
    }  # fmt: skip
    return {**report, **more}


def test_the_parts_of_a_cluster_add_up_to_the_whole() -> None:
    launched = {"launcher": used(0.02), "children": [child(1, 0.6, 0.1), child(2, 0.6, 0.1)]}
    metrics = metrics_of(Timing(5.5, 1.22, 0.2, 7e6, 0), launched, [worker(1), worker(2)])
    assert metrics["time_cpu_startup"] == pytest.approx(0.2)
    assert metrics["time_cpu_steady"] == pytest.approx(1.0)
    assert metrics["time_cpu_shutdown"] == pytest.approx(0.2)
    assert metrics["time_cpu_launcher"] == pytest.approx(0.02)
    parts = sum(metrics[f"time_cpu_{part}"] for part in ("startup", "steady", "shutdown", "launcher"))
    assert parts == pytest.approx(metrics["time_cpu"])
    assert metrics["cpu_share_steady"] == pytest.approx(0.2)  # two workers, 0.5 s in 5 s each
    assert metrics["polls_per_item"] == 20
    assert metrics["time_startup"] == pytest.approx(0.2)
    assert metrics["context_switches_voluntary"] == 20


def test_what_bytewaxs_own_launcher_spends_counts_as_launcher() -> None:
    # One child of ours: bytewax's launcher, whose figures include the two workers that it waited for.
    launched = {"launcher": used(0.02), "children": [child(9, 2.0, 0.5)]}
    metrics = metrics_of(Timing(5.5, 2.02, 0.5, 7e6, 0), launched, [worker(1), worker(2)])
    assert metrics["time_cpu_launcher"] == pytest.approx(0.02 + 2.5 - 2 * 0.65)
    parts = sum(metrics[f"time_cpu_{part}"] for part in ("startup", "steady", "shutdown", "launcher"))
    assert parts == pytest.approx(metrics["time_cpu"])


def test_lateness_is_taken_over_all_workers() -> None:
    launched = {"launcher": used(0), "children": [child(1, 1, 0), child(2, 1, 0)]}
    quick = worker(2, lateness_ns=[[100_000, 95]], lateness_max_ns=100_000)
    metrics = metrics_of(Timing(1, 2, 0, None, 0), launched, [worker(1), quick])
    assert metrics["item_latency_p50"] == pytest.approx(0.0001)
    assert metrics["item_latency_p99"] == pytest.approx(0.001)
    assert metrics["item_latency_max"] == pytest.approx(0.0091)
    assert metrics["memory_peak_resident"] == 2000, "the launcher's, where hyperfine has none"


def test_a_process_that_polled_nothing_is_no_worker_and_without_workers_there_is_no_split() -> None:
    launched = {"launcher": used(0.01), "children": [child(1, 1, 0)]}
    metrics = metrics_of(Timing(1, 1.01, 0, None, 0), launched, [worker(1, first_poll=None, end_of_input=None)])
    assert "time_cpu_steady" not in metrics
    assert metrics["time_cpu"] == pytest.approx(1.01)


@pytest.mark.parametrize(
    ("total", "marks"),
    [(1.0, ()), (1.019, ()), (1.03, (UNBALANCED,)), (0.97, (UNBALANCED,))],
)
def test_a_run_whose_sums_differ_by_more_than_2_per_cent_is_marked(total: float, marks: tuple[str, ...]) -> None:
    launched = {"launcher": used(0.1), "children": [child(1, 0.8, 0.1)]}
    assert marks_of(Timing(1, total, 0, None, 0), launched) == marks


def test_five_milliseconds_are_always_allowed() -> None:
    assert marks_of(Timing(1, 0.0149, 0, None, 0), {"launcher": used(0.01), "children": []}) == ()

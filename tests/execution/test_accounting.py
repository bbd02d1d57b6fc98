"""What becomes of what the launcher and the probes say."""

from typing import Any

import msgspec
import pytest

from waitbench.execution.accounting import (
    LaunchReport,
    ProbeReport,
    incomplete_in,
    marks_of,
    metrics_of,
)
from waitbench.model.run import BY_PROC, RESTARTED

REAL_S = 5.7


def at(seconds: float, cpu_s: float, system_s: float = 0.0, **counts: float) -> dict[str, Any]:
    """What the launcher counted at one moment."""
    return {
        "monotonic_ns": round(seconds * 1e9), "cpu_s": cpu_s, "system_s": system_s,
        "wakeups": 0, **counts,
    }  # fmt: skip


def launched(**more: Any) -> LaunchReport:
    """A run of 5 s whose window lasts from 0.2 to 5.2 s."""
    used = {
        "time_user": 0.8, "time_system": 0.15, "memory_peak_resident": 1000,
        "context_switches_voluntary": 5060, "context_switches_involuntary": 1,
    }  # fmt: skip
    marks = {
        "begin": at(0.2, 0.1, 0.02, wakeups=40, system_calls=100),
        "end": at(5.2, 0.6, 0.12, wakeups=5040, system_calls=7000),
        "exit": at(5.5, 0.95, 0.15, wakeups=5060, system_calls=9000),
    }
    report = {"used": used, "launcher_s": 0.02, "by_proc": False, "started_ns": 50_000_000}
    return msgspec.convert({**report, "marks": marks, **more}, LaunchReport)


def worker(pid: int, **more: Any) -> ProbeReport:
    report = {
        "pid": pid, "polls": 100, "items_in": 5, "items_out": 5,
        "ident_sum_in": 10, "ident_sum_out": 10,
        "lateness_ns": [[1_000_000, 4], [9_000_000, 1]], "lateness_max_ns": 9_100_000,
    }  # fmt: skip
    return msgspec.convert({**report, **more}, ProbeReport)


def test_a_run_gives_every_metric_by_its_key() -> None:
    assert metrics_of(REAL_S, launched(), [worker(1)]) == pytest.approx(
        {
            "time_wall_clock": 5.7,
            "time_user": 0.8,
            "time_system": 0.15,
            "time_cpu": 0.95,
            "memory_peak_resident": 1000,
            "context_switches_voluntary": 5060,
            "context_switches_involuntary": 1,
            "time_cpu_startup": 0.1,
            "time_cpu_idle": 0.5,
            "time_user_idle": 0.4,
            "time_system_idle": 0.1,
            "time_cpu_shutdown": 0.35,
            "time_cpu_launcher": 0.02,
            "time_cpu_running": 0.85,
            "polls": 100,
            "polls_per_item": 20,
            "wakeups": 5000,
            "system_calls": 6900,
            "items_in": 5,
            "items_out": 5,
            "cpu_share_idle": 0.1,
            "time_startup": 0.15,
            "time_window": 5.0,
            "time_cpu_window": 0.5,
            "time_shutdown": 0.3,
            "item_latency_p50": 0.001,
            "item_latency_p99": 0.009,
            "item_latency_max": 0.0091,
        },
        rel=1e-12,
    )


def test_lateness_is_taken_over_all_workers() -> None:
    quick = worker(2, lateness_ns=[[100_000, 95]], lateness_max_ns=100_000)
    metrics = metrics_of(REAL_S, launched(), [worker(1), quick])
    assert metrics["item_latency_p50"] == pytest.approx(0.0001)
    # The last of the 99 items that were no later than 1 ms.
    assert metrics["item_latency_p99"] == pytest.approx(0.001)
    assert metrics["item_latency_max"] == pytest.approx(0.0091)
    # Of a worker, how late its poke was done.
    report = launched(lateness_ns=[[2_000_000, 1]], lateness_max_ns=2_000_000)
    metrics = metrics_of(REAL_S, report, [])
    assert metrics["item_latency_p99"] == metrics["item_latency_max"] == 0.002
    assert "items_out" not in metrics


@pytest.mark.parametrize("mark", ["begin", "end"])
def test_what_never_polled_to_its_end_has_no_window(mark: str) -> None:
    incomplete_report = launched()
    incomplete_report.marks = {
        name: incomplete_report.marks[name] for name in {"begin", "end"} - {mark}
    }
    metrics = metrics_of(REAL_S, incomplete_report, [worker(1)])
    assert metrics["time_cpu"] == pytest.approx(0.95)
    assert not {"time_cpu_idle", "wakeups", "items_out", "time_startup"} & metrics.keys()


def test_wakeups_of_what_has_ended_are_those_of_the_window_if_no_cpu_is_unseen_later() -> None:
    marks = {
        "begin": at(0.2, 0.1, wakeups=40, unseen_s=0.0),
        "end": at(5.2, 0.6, wakeups=50, unseen_s=0.1),
        "last": at(5.2, 0.6, wakeups=50, unseen_s=0.0),
        "exit": at(5.5, 0.95, wakeups=5060, unseen_s=0.0),
    }
    assert metrics_of(REAL_S, launched(marks=marks), [])["wakeups"] == 5020


def test_wakeups_are_unknown_if_the_kernel_stopped_counting_within_the_window() -> None:
    marks = {"begin": at(0.2, 0.1, switches=50), "end": at(5.2, 0.6), "exit": at(5.5, 0.95)}
    assert incomplete_in(launched(marks=marks)).keys() == {"wakeups"}
    marks["end"] = at(5.2, 0.6, switches=60)
    assert incomplete_in(launched(marks=marks)) == {}


def test_a_start_up_ends_when_the_worker_is_ready() -> None:
    assert metrics_of(REAL_S, launched(ready_ns=150_000_000), [])["time_startup"] == 0.1


def test_system_time_that_ticks_overestimate_is_no_more_than_the_cpu_time() -> None:
    marks = {"begin": at(0.2, 0.1), "end": at(5.2, 0.105, 0.01), "exit": at(5.5, 0.2, 0.01)}
    metrics = metrics_of(REAL_S, launched(marks=marks), [])
    assert metrics["time_system_idle"] == metrics["time_cpu_idle"] == pytest.approx(0.005)
    assert metrics["time_user_idle"] == 0


def test_a_count_that_seems_to_fall_within_a_run_did_not_rise() -> None:
    """Two readings are not of one moment: a preemption may be known before its switch is."""
    begin = at(0.2, 0.1, 0.01, wakeups=40, system_calls=9)
    end, last = at(5.2, 0.09, 0.0, wakeups=38, system_calls=8), at(5.5, 0.08, 0.0)
    marks = {"begin": begin, "end": end, "exit": last}
    metrics = metrics_of(REAL_S, launched(marks=marks), [])
    assert metrics["wakeups"] == metrics["system_calls"] == metrics["time_cpu_idle"] == 0
    assert {key for key, value in metrics.items() if value < 0} == set()


def test_what_is_odd_about_a_run_is_marked() -> None:
    assert marks_of(launched()) == ()
    odd = launched(by_proc=True, totals={"processes_replaced": 1})
    assert marks_of(odd) == (RESTARTED, BY_PROC)

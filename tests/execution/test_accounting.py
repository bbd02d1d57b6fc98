"""Where the CPU time of a run went."""

from typing import Any

import pytest

from waitbench.execution.accounting import instrumented_metrics, marks_of, metrics_of
from waitbench.model.run import UNBALANCED, Timing


def timing(real_s: float, user_s: float, system_s: float, rss_bytes: float | None = None) -> Timing:
    return Timing(real_s=real_s, user_s=user_s, system_s=system_s, rss_bytes=rss_bytes, exit_code=0)


def used(user_s: float, system_s: float = 0.0, **more: Any) -> dict[str, Any]:
    return {"user_s": user_s, "system_s": system_s, **more}


def at(
    seconds: float, user_s: float, system_s: float = 0.0, *, waited: int, calls: int | None = None
) -> dict[str, Any]:
    """What a probe saw at one moment."""
    seen = {"switches_voluntary": waited, "system_calls": calls}
    return used(user_s, system_s, monotonic_ns=round(seconds * 1e9), **seen)


def child(pid: int, user_s: float, system_s: float) -> dict[str, Any]:
    more = {
        "rss_bytes": 1000 * pid,
        "switches_voluntary": 10,
        "switches_involuntary": 1,
        "exit_code": 0,
    }
    return used(user_s, system_s, pid=pid, **more)


def worker(pid: int, **more: Any) -> dict[str, Any]:
    report = {
        "pid": pid, "polls": 100, "items_in": 5, "items_out": 5, "spawned_ns": 0, "totals": {},
        "first_poll": at(0.2, 0.1, waited=40, calls=None),
        "end_of_input": at(5.2, 0.5, 0.1, waited=5040, calls=None),
        "exit": used(0.55, 0.1),
        "lateness_ns": [[1_000_000, 4], [9_000_000, 1]], "lateness_max_ns": 9_100_000,
    }  # fmt: skip
    return {**report, **more}


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


@pytest.mark.parametrize(
    ("total", "marks"),
    [(1.0, ()), (1.019, ()), (1.03, (UNBALANCED,)), (0.97, (UNBALANCED,))],
)
def test_a_run_whose_sums_differ_by_more_than_2_per_cent_is_marked(
    total: float, marks: tuple[str, ...]
) -> None:
    launched = {"launcher": used(0.1), "children": [child(1, 0.8, 0.1)]}
    assert marks_of(timing(1, total, 0, None), launched) == marks


def test_five_milliseconds_are_always_allowed() -> None:
    assert marks_of(timing(1, 0.0149, 0, None), {"launcher": used(0.01), "children": []}) == ()


def test_a_run_gives_every_metric_by_its_key() -> None:
    # The worker started a program of its own, which wait4 counts as the worker's.
    helped = worker(
        1, spawned_ns=50_000_000, totals={"helper_user_s": 0.2, "helper_system_s": 0.05}
    )
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
            "polls": 100,
            "polls_per_item": 20,
            "wakeups": 5000,
            "items_in": 5,
            "items_out": 5,
            "cpu_share_steady": 0.1,
            "time_startup": 0.15,
            "item_latency_p50": 0.001,
            "item_latency_p99": 0.00868,
            "item_latency_max": 0.0091,
        },
        rel=1e-12,
    )


def test_a_worker_that_stopped_before_the_end_of_its_input_is_no_worker() -> None:
    launched = {"launcher": used(0.01), "children": [child(1, 1, 0)]}
    metrics = metrics_of(timing(1, 1.01, 0), launched, [worker(1, end_of_input=None)])
    assert "time_cpu_steady" not in metrics


def test_a_worker_whose_steady_phase_took_no_time_has_no_share() -> None:
    at_once = worker(1, end_of_input=at(0.2, 0.5, 0.1, waited=40))
    launched = {"launcher": used(0.01), "children": [child(1, 1, 0)]}
    assert metrics_of(timing(1, 1.01, 0), launched, [at_once])["cpu_share_steady"] == 0


def test_a_share_is_known_of_a_steady_phase_below_a_second() -> None:
    short = worker(1, end_of_input=at(0.7, 0.5, 0.1, waited=40))
    launched = {"launcher": used(0.01), "children": [child(1, 1, 0)]}
    assert metrics_of(timing(1, 1.01, 0), launched, [short])["cpu_share_steady"] == pytest.approx(1)


def test_the_allowed_difference_grows_with_the_total() -> None:
    launched = {"launcher": used(0.0), "children": [child(1, 10.0, 0.0)]}
    assert marks_of(timing(1, 10.1, 0), launched) == ()
    assert marks_of(timing(1, 10.3, 0), launched) == (UNBALANCED,)


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


def clock(**samples: dict[str, list[int]]) -> dict[str, Any]:
    """What our launcher says of the clock: times in seconds, by ``p<pid>`` and mode."""
    return {
        "period_ns": 100_000_000,
        "samples": {
            name.removeprefix("p"): {mode: [s * 10**9 for s in at] for mode, at in modes.items()}
            for name, modes in samples.items()
        },
    }


COUNTED = {
    "first_poll": at(0.2, 0.1, waited=10, calls=100),
    "end_of_input": at(5.2, 0.5, 0.1, waited=1000, calls=7000),
}


def test_an_instrumented_run_gives_calls_and_the_split_of_the_steady_phase() -> None:
    workers = [worker(pid, **COUNTED) for pid in (1, 2)]
    seen = clock(
        # At 0 s and 6 s they start and end; process 9 is none of the workers.
        p1={"user": [0, 1, 2, 3, 6], "system": [0, 4]},
        p2={"user": [], "system": [5, 6]},
        p9={"user": [1, 2, 3], "system": [1, 2, 3]},
    )
    given = instrumented_metrics({"clock": seen, "children": []}, workers)
    assert given == {
        "system_calls": 2 * 6900,
        "system_share_steady": pytest.approx(2 / 5),
        "cpu_sampled_share": pytest.approx(0.5 / 1.0),
    }


@pytest.mark.parametrize("lacking", ["first_poll", "end_of_input"])
def test_a_count_that_one_worker_lacks_is_absent_rather_than_that_of_the_others(
    lacking: str,
) -> None:
    part = {**COUNTED, lacking: {**COUNTED[lacking], "system_calls": None}}
    reports = [worker(1, **COUNTED), worker(2, **part)]
    assert instrumented_metrics({"clock": None, "children": []}, reports) == {}


@pytest.mark.parametrize(
    "seen",
    [
        None,
        {"period_ns": 1, "samples": None},
        clock(),
        clock(p9={"user": [1], "system": []}),
        clock(p1={"user": [0], "system": [6]}),
    ],
)
def test_a_split_that_was_not_sampled_is_absent(seen: dict[str, Any] | None) -> None:
    given = instrumented_metrics({"clock": seen, "children": []}, [worker(1, **COUNTED)])
    assert given == {"system_calls": 6900}


def test_workers_that_never_polled_give_nothing_to_instruments() -> None:
    idle = worker(1, first_poll=None, end_of_input=None)
    assert instrumented_metrics(
        {"clock": clock(p1={"user": [1], "system": []}), "children": []}, [idle]
    ) == {"system_calls": 0}

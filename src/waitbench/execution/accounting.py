"""Computes a run's metrics from the reports of its launcher and probes. Pure.

The launcher counts all processes of the run from outside, at each mark: execution/launch.py. A
probe in each worker of a dataflow counts items and their lateness: dataflows/support/probe.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from waitbench.engines.worker import metrics as worker_metrics
from waitbench.execution.launch_report import (
    BEGIN,
    END,
    ENDING,
    EXIT,
    LAST,
    LATENESS,
    STARTED,
    STOPPED,
)
from waitbench.model.metrics import IDLE_SYSTEM, IDLE_USER, STOP, SYSTEM_CALLS, WINDOW
from waitbench.model.run import BY_PROC, INCOMPLETE, RESTARTED, SENT_AT_END

_UNSEEN = 0.05
"""The least share of the window's CPU at which processes that have ended matter to wake-ups."""
_ITEMS = ("items_in", "items_out", "polls")
"""Sums over the workers' probes, which report them under the same names."""


def metrics_of(
    real_s: float, launched: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    used, marks = launched["used"], launched["marks"]
    metrics = {
        "time_wall_clock": real_s - launched.get("waited_s", 0.0),
        "time_cpu": used["time_user"] + used["time_system"],
        "time_cpu_launcher": launched["launcher_s"],
        **used,
    }
    if BEGIN in marks and END in marks:
        metrics |= _phases(launched) | _items(reports) | _lateness([launched, *reports])
    return metrics


def marks_of(launched: Mapping[str, Any]) -> tuple[str, ...]:
    odd = {
        RESTARTED: launched.get("totals", {}).get("processes_replaced"),
        BY_PROC: launched["by_proc"],
        SENT_AT_END: launched.get("sent_at_end"),
        INCOMPLETE: launched.get("incomplete"),
    }
    return tuple(mark for mark, is_so in odd.items() if is_so)


def incomplete_in(launched: Mapping[str, Any]) -> dict[str, Any]:
    """Returns why a run that counts lacks metrics, by the metric's key."""
    lacks = launched.get("incomplete", {})
    keys = {LATENESS: sorted(worker_metrics.LATENESS), STOPPED: [STOP.key]}
    return {key: lack for name, lack in lacks.items() for key in keys[name]}


def _phases(launched: Mapping[str, Any]) -> dict[str, float]:
    marks = launched["marks"]
    begin, end, last = (marks[name] for name in (BEGIN, END, EXIT))
    started, ending = marks.get(STARTED, begin), marks.get(ENDING, end)
    idle_s, shutdown_s = _rise(begin, end, "cpu_s"), _rise(ending, last, "cpu_s")
    window_s = _seconds(begin["monotonic_ns"], end["monotonic_ns"])
    system_s = min(idle_s, _rise(begin, end, "system_s"))
    startup_s = _seconds(launched["started_ns"], launched.get("ready_ns", begin["monotonic_ns"]))
    phases = {
        WINDOW: window_s,
        "time_cpu_window": idle_s,
        "time_cpu_startup": started["cpu_s"],
        "time_cpu_idle": idle_s,
        "time_cpu_shutdown": shutdown_s,
        "time_cpu_running": idle_s + shutdown_s,
        IDLE_USER: idle_s - system_s,
        IDLE_SYSTEM: system_s,
        **_wakeups(launched),
        "time_startup": startup_s,
        "time_shutdown": _seconds(ending["monotonic_ns"], last["monotonic_ns"]),
    }
    if window_s > 0:
        phases["cpu_share_idle"] = idle_s / window_s
    if SYSTEM_CALLS in end:
        phases[SYSTEM_CALLS] = _rise(begin, end, SYSTEM_CALLS)
    return phases


def _rise(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> float:
    """Computes a count's rise, at least 0: what it sums up is not of one moment."""
    rise: float = after[key] - before[key]
    return max(0, rise)  # 0, not 0.0: integers stay integers


def _wakeups(launched: Mapping[str, Any]) -> dict[str, float]:
    """Computes the wake-ups in the window, if they are known.

    By ``/proc``, wake-ups of threads and children that have ended are missing. The reaped total has
    them, and the CPU of those in the window tells their share.
    """
    marks, used = launched["marks"], launched["used"]
    begin, end = marks[BEGIN], marks[END]
    last = marks.get(LAST, end)
    rise = end["wakeups"] - begin["wakeups"]
    if end.get("is_blind"):
        return {}
    unseen_s = _rise(begin, end, "unseen_s") if "unseen_s" in begin else 0.0
    if unseen_s > _UNSEEN * _rise(begin, end, "cpu_s"):
        unseen = max(0, used["context_switches_voluntary"] - last["wakeups"])
        rise += round(unseen * min(1.0, unseen_s / last["unseen_s"]))
    return {"wakeups": max(0, rise)}


def _items(reports: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    if not reports:
        return {}
    items = {key: sum(report[key] for report in reports) for key in _ITEMS}
    if items["items_out"]:
        items["polls_per_item"] = items["polls"] / items["items_out"]
    return items


def _lateness(reports: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    # Imported here: not every command measures, and no run is under way now.
    import numpy as np

    counts_by_value = [pair for report in reports for pair in report.get("lateness_ns", ())]
    if not counts_by_value:
        return {}
    values, counts = zip(*counts_by_value, strict=True)
    p50, p99 = np.quantile(values, (0.50, 0.99), weights=counts, method="inverted_cdf")
    return {
        "item_latency_p50": float(p50) / 1e9,
        "item_latency_p99": float(p99) / 1e9,
        "item_latency_max": max(report.get("lateness_max_ns", 0) for report in reports) / 1e9,
    }


def _seconds(begin_ns: int, end_ns: int) -> float:
    return (end_ns - begin_ns) / 1e9

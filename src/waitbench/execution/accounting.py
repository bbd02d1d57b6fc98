"""What a run's launcher and probes reported -> the run's metrics. Pure.

The launcher has counted all that the run started, from outside, at each mark: execution/launch.py.
A probe in each worker of a dataflow has counted items, and how late they were:
dataflows/support/probe.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from waitbench.engines.worker import metrics as of_workers
from waitbench.execution.launch_report import (
    BEGIN,
    END,
    EXIT,
    LAST,
    LATENESS,
    STARTED,
    STOPPED,
    TOLD,
)
from waitbench.model.metrics import IDLE_SYSTEM, IDLE_USER, STOP, SYSTEM_CALLS, WINDOW
from waitbench.model.run import BY_PROC, INCOMPLETE, RESTARTED, SENT_AT_END

_UNSEEN = 0.05
"""The share of the CPU in the window from which on what has ended matters to wake-ups."""
_ITEMS = ("items_in", "items_out", "polls")
"""The metrics that are sums of what each worker's probe reports under the same name."""


def metrics_of(
    real_s: float, launched: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """All metrics of one run, by key; those of a window only where it began and ended."""
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
    """What is odd about a run that counts all the same."""
    odd = {
        RESTARTED: launched.get("totals", {}).get("processes_replaced"),
        BY_PROC: launched["by_proc"],
        SENT_AT_END: launched.get("sent_at_end"),
        INCOMPLETE: launched.get("incomplete"),
    }
    return tuple(mark for mark, is_so in odd.items() if is_so)


def incomplete_in(launched: Mapping[str, Any]) -> dict[str, Any]:
    """What a run lacks that counts all the same, by the metric's key."""
    keys = {LATENESS: of_workers.LATENESS, STOPPED: (STOP.key,)}
    lacking = launched.get("incomplete", {})
    return {key: lacking[name] for name in keys if name in lacking for key in sorted(keys[name])}


def _phases(launched: Mapping[str, Any]) -> dict[str, float]:
    """What was used before, within and after the window, and how long that took.

    The CPU of the three adds up to that of the run, but for what it uses while it waits for others
    of its batch.
    """
    marks = launched["marks"]
    begin, end, last = (marks[name] for name in (BEGIN, END, EXIT))
    started, told = marks.get(STARTED, begin), marks.get(TOLD, end)
    idle_s, shutdown_s = _rise(begin, end, "cpu_s"), _rise(told, last, "cpu_s")
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
        "time_shutdown": _seconds(told["monotonic_ns"], last["monotonic_ns"]),
    }
    if window_s > 0:
        phases["cpu_share_idle"] = idle_s / window_s
    if SYSTEM_CALLS in end:
        phases[SYSTEM_CALLS] = _rise(begin, end, SYSTEM_CALLS)
    return phases


def _rise(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> float:
    """By how much a count rose. It cannot fall, but what makes it up is not of one moment."""
    rise: float = after[key] - before[key]
    return max(0, rise)  # whole numbers stay whole


def _wakeups(launched: Mapping[str, Any]) -> dict[str, float]:
    """How often it woke up in the window, if that is known.

    By ``/proc``, threads and children that have ended take with them how often they did; the wait
    for their process tells it of all together, and their CPU how much of that is in the window.
    """
    marks, used = launched["marks"], launched["used"]
    begin, end = marks[BEGIN], marks[END]
    last = marks.get(LAST, end)
    rise = end["wakeups"] - begin["wakeups"]
    if end.get("is_blind"):
        return {}
    unseen_s = _rise(begin, end, "unseen_s") if "unseen_s" in end else 0.0
    if unseen_s > _UNSEEN * _rise(begin, end, "cpu_s"):
        unseen = max(0, used["context_switches_voluntary"] - last["wakeups"])
        rise += round(unseen * min(1.0, unseen_s / last["unseen_s"]))
    return {"wakeups": max(0, rise)}


def _items(reports: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    if not reports:
        return {}
    items = {key: sum(one[key] for one in reports) for key in _ITEMS}
    if items["items_out"]:
        items["polls_per_item"] = items["polls"] / items["items_out"]
    return items


def _lateness(reports: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    # Here: no run is under way, and not every command that starts measures.
    import numpy as np

    found = [counted for report in reports for counted in report.get("lateness_ns", ())]
    if not found:
        return {}
    values, counts = zip(*found, strict=True)
    p50, p99 = np.quantile(values, (0.50, 0.99), weights=counts, method="inverted_cdf")
    return {
        "item_latency_p50": float(p50) / 1e9,
        "item_latency_p99": float(p99) / 1e9,
        "item_latency_max": max(one.get("lateness_max_ns", 0) for one in reports) / 1e9,
    }


def _seconds(begin_ns: int, end_ns: int) -> float:
    return (end_ns - begin_ns) / 1e9

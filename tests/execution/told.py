"""What our launcher and the probes say of a run, made up."""

from typing import Any


def at(seconds: float, cpu_s: float, system_s: float = 0.0, **counts: int) -> dict[str, Any]:
    """What the launcher counted at one moment."""
    return {
        "monotonic_ns": round(seconds * 1e9), "cpu_s": cpu_s, "system_s": system_s,
        "wakeups": 0, **counts,
    }  # fmt: skip


def launched(**more: Any) -> dict[str, Any]:
    """A run of 5 s whose window lasts from 0.2 to 5.2 s."""
    used = {
        "time_user": 0.8, "time_system": 0.15, "memory_peak_resident": 1000,
        "context_switches_voluntary": 5060, "context_switches_involuntary": 1,
    }  # fmt: skip
    marks = {
        "begin": at(0.2, 0.1, 0.02, wakeups=40),
        "end": at(5.2, 0.6, 0.12, wakeups=5040),
        "exit": at(5.5, 0.95, 0.15, wakeups=5060),
    }
    told = {"used": used, "launcher_s": 0.02, "by_proc": False, "started_ns": 50_000_000}
    return {**told, "marks": marks, **more}


def worker(pid: int, **more: Any) -> dict[str, Any]:
    report = {
        "pid": pid, "polls": 100, "items_in": 5, "items_out": 5,
        "lateness_ns": [[1_000_000, 4], [9_000_000, 1]], "lateness_max_ns": 9_100_000,
    }  # fmt: skip
    return {**report, **more}

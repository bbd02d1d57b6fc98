"""What hyperfine, our launcher and the probes say of a run, made up."""

from typing import Any

from waitbench.model.run import Timing


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


def child(pid: int, user_s: float, system_s: float, *, ended_s: float = 5.5) -> dict[str, Any]:
    more = {
        "ended_ns": round(ended_s * 1e9),
        "rss_bytes": 1000 * pid,
        "switches_voluntary": 10,
        "switches_involuntary": 1,
        "exit_code": 0,
    }
    return used(user_s, system_s, pid=pid, **more)


def worker(pid: int, **more: Any) -> dict[str, Any]:
    report = {
        "pid": pid, "polls": 100, "items_in": 5, "items_out": 5, "spawned_ns": 0, "totals": {},
        "helpers": used(0.0),
        "first_poll": at(0.2, 0.1, waited=40, calls=None),
        "end_of_input": at(5.2, 0.5, 0.1, waited=5040, calls=None),
        "exit": used(0.55, 0.1),
        "lateness_ns": [[1_000_000, 4], [9_000_000, 1]], "lateness_max_ns": 9_100_000,
    }  # fmt: skip
    return {**report, **more}

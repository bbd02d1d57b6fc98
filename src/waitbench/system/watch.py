"""What else the machine did during a run. Read before and after it: watching costs the run nothing.

CPU of others is what ``/proc/stat`` counted as busy, less what the run itself used: both are in
ticks (10 ms), so short runs are given a tolerance. Steal is what a hypervisor took. Pressure is the
time in which some task waited for a CPU (``/proc/pressure/cpu``, Linux ≥ 4.20); a run with more
busy threads than CPUs causes it itself, so it is recorded but not judged.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOREIGN_CORES = 0.10
STEAL_CORES = 0.05
TICKS_TOLERATED = 4


@dataclass(frozen=True)
class Reading:
    """The machine's counters at one moment, in seconds since its start."""

    busy_s: float
    steal_s: float
    pressure_s: float | None

    @classmethod
    def now(cls) -> "Reading | None":
        """``None`` where there is no ``/proc/stat``."""
        try:
            fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        except OSError:
            return None
        tick = os.sysconf("SC_CLK_TCK")
        # user, nice, system, idle, iowait, irq, softirq, steal; guest time is within user.
        user, nice, system, _idle, _iowait, irq, softirq, steal = (
            int(field) / tick for field in fields[:8]
        )
        return cls(user + nice + system + irq + softirq, steal, _pressure_s())


def observed(before: Reading | None, after: Reading | None, run_cpu_s: float) -> dict[str, float]:
    """What the machine did between two readings, by key; empty where nothing can be read."""
    if before is None or after is None:
        return {}
    seen = {
        "machine_foreign_cpu": max(0.0, after.busy_s - before.busy_s - run_cpu_s),
        "machine_steal": after.steal_s - before.steal_s,
        "machine_load": os.getloadavg()[0],
    }
    if before.pressure_s is not None and after.pressure_s is not None:
        seen["machine_pressure"] = after.pressure_s - before.pressure_s
    return seen


def is_disturbed(metrics: Mapping[str, float]) -> bool:
    """Whether others used so much CPU during a run that its figures should not be trusted."""
    real_s = metrics["time_wall_clock"]
    tolerated_s = TICKS_TOLERATED / os.sysconf("SC_CLK_TCK")
    foreign, steal = metrics.get("machine_foreign_cpu", 0.0), metrics.get("machine_steal", 0.0)
    return (
        foreign > FOREIGN_CORES * real_s + tolerated_s or steal > STEAL_CORES * real_s + tolerated_s
    )


def _pressure_s() -> float | None:
    try:
        some = Path("/proc/pressure/cpu").read_text().split("\n", 1)[0]
    except OSError:
        return None
    return int(some.rsplit("total=", 1)[1]) / 1e6

"""What else the machine did during a run. Read before and after it: watching costs the run nothing.

CPU of others is what ``/proc/stat`` counted as busy, less what the run itself used: both are in
ticks (10 ms), so short runs are given a tolerance. Steal is what a hypervisor took. It grows with
the CPU that the run itself wants, so it is recorded but never judged: a worker that spins would
excuse itself.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOREIGN_CORES = 0.10
TICKS_TOLERATED = 4


@dataclass(frozen=True)
class Reading:
    """The machine's counters at one moment, in seconds since its start."""

    busy_s: float
    steal_s: float

    @classmethod
    def now(cls) -> "Reading":
        """What ``/proc/stat`` says (Linux)."""
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        tick = os.sysconf("SC_CLK_TCK")
        # user, nice, system, idle, iowait, irq, softirq, steal; guest time is within user.
        user, nice, system, _idle, _iowait, irq, softirq, steal = (
            int(field) / tick for field in fields[:8]
        )
        return cls(user + nice + system + irq + softirq, steal)


def observed(before: Reading, after: Reading, run_cpu_s: float) -> dict[str, float]:
    """What the machine did between two readings, by key."""
    return {
        "machine_foreign_cpu": max(0.0, after.busy_s - before.busy_s - run_cpu_s),
        "machine_steal": max(0.0, after.steal_s - before.steal_s),
    }


def is_disturbed(baseline: Mapping[str, float]) -> bool:
    """Whether others used so much CPU that a round is made again, or cannot pass.

    Nothing else repeats a round, or keeps it from passing, but for the first rounds at once of a
    worker file (``execution.session``); and nothing keeps it from failing. It takes the metrics of
    the baseline's run only: a candidate that has others work for it, such as the kernel or a
    broker, would else repeat and mute its own rounds. As runs alternate, what goes on for longer
    than a run is in some run of the baseline, too; and what others use beside the candidate is
    asked of it (``foreign-cpu``). What a candidate leaves behind is in the baseline's run after it:
    such a round is not made again (``execution.session``). Steal does not count: a hypervisor takes
    from those that want CPU.
    """
    tolerated_s = TICKS_TOLERATED / os.sysconf("SC_CLK_TCK")
    foreign_s = baseline.get("machine_foreign_cpu", 0.0)
    return foreign_s > FOREIGN_CORES * baseline["time_wall_clock"] + tolerated_s


def foreign_cores(runs: Sequence[Mapping[str, float]]) -> float:
    """How many cores others used on the average of a round's runs."""
    real_s = sum(metrics["time_wall_clock"] for metrics in runs)
    return sum(metrics.get("machine_foreign_cpu", 0.0) for metrics in runs) / max(real_s, 1e-9)

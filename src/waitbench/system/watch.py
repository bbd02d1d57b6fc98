"""Load of the machine by other programs during a run, read before and after it, at no cost to it.

Both busy time and the run's CPU are in ticks (10 ms), so short runs have a tolerance. Steal grows
with the CPU that a run wants, so it is recorded but never judged.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOREIGN_CORES = 0.10
TICKS_TOLERATED = 4


@dataclass(frozen=True)
class Reading:
    """The machine's counters, in seconds since its start."""

    busy_s: float
    steal_s: float

    @classmethod
    def now(cls) -> "Reading":
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        tick = os.sysconf("SC_CLK_TCK")
        # user, nice, system, idle, iowait, irq, softirq, steal; guest time is within user.
        user, nice, system, _idle, _iowait, irq, softirq, steal = (
            int(field) / tick for field in fields[:8]
        )
        return cls(user + nice + system + irq + softirq, steal)


def observed(before: Reading, after: Reading, run_cpu_s: float) -> dict[str, float]:
    return {
        "machine_foreign_cpu": max(0.0, after.busy_s - before.busy_s - run_cpu_s),
        "machine_steal": max(0.0, after.steal_s - before.steal_s),
    }


def is_disturbed(baseline: Mapping[str, float]) -> bool:
    """Whether foreign CPU was so high that a round is repeated, or cannot pass; it can still fail.

    Reads the baseline's run only: a candidate whose work is done by the kernel or a broker would
    otherwise mute its own rounds. As runs alternate, a longer disturbance reaches the baseline too,
    and a question (``foreign-cpu``) covers the candidate's runs. See also ``execution.session``.
    """
    tolerated_s = TICKS_TOLERATED / os.sysconf("SC_CLK_TCK")
    foreign_s = baseline.get("machine_foreign_cpu", 0.0)
    return foreign_s > FOREIGN_CORES * baseline["time_wall_clock"] + tolerated_s


def foreign_cores(runs: Sequence[Mapping[str, float]]) -> float:
    """Mean number of cores that other programs used during a round's runs."""
    real_s = sum(metrics["time_wall_clock"] for metrics in runs)
    return sum(metrics.get("machine_foreign_cpu", 0.0) for metrics in runs) / max(real_s, 1e-9)

"""Metrics: each quantity's name for people, its key in files, its unit.

What only a family measures is in its folder.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One quantity of a run."""

    name: str
    """On the command line and in tables."""
    key: str
    """In result files; hyperfine's own where it has one."""
    unit: str
    title: str
    """In charts and sentences."""

    @property
    def floor(self) -> float:
        """The smallest value that a ratio is taken of; what is below counts as this.

        CPU time can be 0, and below 1 ms a kernel that accounts by ticks cannot tell values apart.
        """
        return 1e-3 if self.key.startswith(("time_user", "time_system", "time_cpu")) else 1e-9


SYSTEM_CALLS = "system_calls"
"""The key of what only some runs have: counting it costs CPU."""

METRICS = (
    Metric("real", "time_wall_clock", "second", "real time"),
    Metric("user", "time_user", "second", "user time"),
    Metric("system", "time_system", "second", "system time"),
    Metric("cpu", "time_cpu", "second", "CPU time"),
    Metric("rss", "memory_peak_resident", "byte", "peak memory"),
    # Where the CPU time went. The five add up to what the launcher saw: execution/accounting.py.
    Metric("cpu-startup", "time_cpu_startup", "second", "start-up CPU"),
    Metric("steady", "time_cpu_steady", "second", "the workers' steady CPU"),
    Metric("cpu-shutdown", "time_cpu_shutdown", "second", "shutdown CPU"),
    Metric("cpu-helpers", "time_cpu_helpers", "second", "CPU of programs that workers started"),
    Metric("cpu-launcher", "time_cpu_launcher", "second", "the launcher's CPU"),
    # What the workers did.
    Metric("share", "cpu_share_steady", "core", "CPU per waiting second"),
    Metric("startup", "time_startup", "second", "start-up"),
    Metric("polls", "polls", "count", "polls"),
    Metric("wakeups", "wakeups", "count", "wake-ups while waiting"),
    Metric("syscalls", SYSTEM_CALLS, "count", "system calls while waiting"),
    Metric("polls-per-item", "polls_per_item", "count", "polls per item"),
    Metric("switches", "context_switches_voluntary", "count", "voluntary context switches"),
    Metric("preemptions", "context_switches_involuntary", "count", "involuntary context switches"),
    # How late items were, from due to sink.
    Metric("latency", "item_latency_p99", "second", "lateness at p99"),
    Metric("latency-p50", "item_latency_p50", "second", "median lateness"),
    Metric("latency-max", "item_latency_max", "second", "greatest lateness"),
    # What else the machine did meanwhile.
    Metric("foreign-cpu", "machine_foreign_cpu", "second", "CPU of others"),
    Metric("steal", "machine_steal", "second", "steal time"),
    Metric("pressure", "machine_pressure", "second", "CPU pressure"),
    Metric("load", "machine_load", "count", "load average"),
    Metric("items-in", "items_in", "count", "items in"),
    Metric("items", "items_out", "count", "items out"),
)

"""What every run may give, whatever its family."""

BY_NAME = {metric.name: metric for metric in METRICS}

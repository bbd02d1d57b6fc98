"""Metrics: the names, keys and units of the quantities that runs are measured by."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

MOST = 10**15
"""More than any quantity, and small enough for sums, squares and ratios to stay finite."""
Count = Annotated[int, Meta(ge=-MOST, le=MOST)]
Finite = Annotated[float, Meta(ge=-MOST, le=MOST)]
Quantity = Count | Finite
"""A finite number read from a file; integers stay integers."""
CENSORED = float(MOST)
"""Stands for a value above a time limit: above all others, and used only for its rank."""

FileName = Annotated[str, Meta(pattern=r"\A[^/\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}\Z")]
"""A name without separators and control characters, which can be part of a file's name."""

OWN = "own_"
"""The prefix of the keys of metrics that worker files declare."""


class Metric(Struct, frozen=True, omit_defaults=True):
    """One quantity of a run."""

    name: str
    key: str
    """The name in result files; hyperfine's own where it has the metric."""
    unit: str
    title: str
    explains: str | None = None
    """The name of the cost of which it is a component: see ``Verdict.EXPLAINED``."""

    @property
    def is_of_window(self) -> bool:
        """Whether only the window is measured, in which the worker waits."""
        return self.key.endswith("_idle") or self.explains == "idle"

    @property
    def is_declared(self) -> bool:
        return self.key.startswith(OWN)

    @property
    def is_of_command(self) -> bool:
        """Whether a worker file declares it, or only commands that end by themselves have it."""
        return self.is_declared or self.name in ("window", "cpu-window")

    @property
    def resolution(self) -> float:
        """The smallest value that ratios are taken of; lower values count as this one.

        CPU time below 1 ms is noise, and most kernels sample its split at ticks of 4 ms. For most
        counts, 0.5 tells 0 from 1.
        """
        if self.key == MEMORY_GROWTH:
            return 2.0**16
        if self.key.startswith(("time_user", "time_system")):
            return 4e-3
        if self.key.startswith("time_cpu"):
            return 1e-3
        if self.unit != "count":
            return 1e-9
        if self.is_declared or "_per_" in self.key:
            return 1e-2
        return 5.0 if self.explains else 0.5


# Keys of metrics.
WINDOW = "time_window"
OTHER_CPU = "machine_foreign_cpu"
STEAL = "machine_steal"
SYSTEM_CALLS = "system_calls"
MEMORY_GROWTH = "memory_growth"
SERVICE_MEMORY = "service_memory"
"""Memory of a run's services. It is not compared, but limits how many runs are concurrent."""
IDLE_USER = "time_user_idle"
IDLE_SYSTEM = "time_system_idle"

CHANGED_BY_SHARING = frozenset({"memory", "latency", "latency-p50", "latency-max"})
"""Names of the metrics that concurrent runs change if they share pages of memory, or answer each
other's messages. One round of single runs shows it; for CPU and counts, a round varies too much."""
OTHER_ALLOWED_S = 0.25
"""The allowance for CPU of other programs in a run."""
BY_SECOND = frozenset(
    {"polls", "wakeups", "syscalls", "service-cpu", "service-requests", "service-bytes"}
)
"""Names of the metrics shown per second of the window; for idle CPU, see the metric ``share``."""

METRICS = (
    Metric("real", "time_wall_clock", "second", "real time"),
    Metric("user", "time_user", "second", "user time"),
    Metric("system", "time_system", "second", "system time", explains="cpu"),
    Metric("cpu", "time_cpu", "second", "total CPU"),
    Metric("rss", "memory_peak_resident", "byte", "peak memory"),
    # Start-up, idle and shutdown CPU add up to total CPU.
    Metric("cpu-startup", "time_cpu_startup", "second", "start-up CPU"),
    Metric("idle", "time_cpu_idle", "second", "idle CPU"),
    Metric("idle-user", IDLE_USER, "second", "idle user time", explains="idle"),
    Metric("idle-system", IDLE_SYSTEM, "second", "idle system time", explains="idle"),
    Metric("cpu-shutdown", "time_cpu_shutdown", "second", "shutdown CPU"),
    Metric("cpu-launcher", "time_cpu_launcher", "second", "the launcher's CPU"),
    Metric("cpu-running", "time_cpu_running", "second", "CPU after start-up"),
    # Times and counts of the workers.
    Metric("share", "cpu_share_idle", "core", "idle CPU per second"),
    Metric("startup", "time_startup", "second", "start-up"),
    Metric("shutdown", "time_shutdown", "second", "shutdown"),
    Metric("polls", "polls", "count", "polls", explains="idle"),
    Metric("wakeups", "wakeups", "count", "wake-ups while waiting", explains="idle"),
    Metric("syscalls", SYSTEM_CALLS, "count", "system calls while waiting", explains="idle"),
    Metric("polls-per-item", "polls_per_item", "count", "polls per item"),
    Metric("switches", "context_switches_voluntary", "count", "voluntary context switches"),
    Metric("preemptions", "context_switches_involuntary", "count", "involuntary context switches"),
    # The lateness of an item is the time from when it is due to its arrival in the sink.
    Metric("latency", "item_latency_p99", "second", "lateness p99"),
    Metric("latency-p50", "item_latency_p50", "second", "median lateness"),
    Metric("latency-max", "item_latency_max", "second", "greatest lateness"),
    # The load of the machine by other programs and machines.
    Metric("foreign-cpu", OTHER_CPU, "second", "CPU of other programs"),
    Metric("steal", STEAL, "second", "steal time"),
    Metric("items-in", "items_in", "count", "items in"),
    Metric("items", "items_out", "count", "items out"),
)

MEMORY = Metric("memory", "memory_proportional", "byte", "memory of all processes (PSS)")
STOP = Metric("stop", "time_stop", "second", "time to end")
"""Replaces ``shutdown`` for worker files: from the signal, or the action that ends a worker."""
SERVICE_REQUESTS, SERVICE_BYTES = "service_requests", "service_bytes"
SERVICES = (
    Metric("service-cpu", "service_cpu_idle", "second", "the services' CPU"),
    Metric("service-requests", SERVICE_REQUESTS, "count", "requests to the services"),
    Metric("service-bytes", SERVICE_BYTES, "byte", "bytes to and from the services"),
)

# Metrics of worker files alone: of workers that wait, and of commands that end by themselves.
WAITING = (
    STOP,
    MEMORY,
    # Pages of files are not counted.
    Metric("memory-growth", MEMORY_GROWTH, "byte", "memory growth a minute"),
    Metric("restarts", "processes_replaced", "count", "processes that began while it waited"),
    *SERVICES,
)
UNTIL_EXIT = (
    Metric("window", WINDOW, "second", "time from ready to its end"),
    Metric("cpu-window", "time_cpu_window", "second", "CPU from ready to its end"),
    *SERVICES,
)

BY_NAME = {metric.name: metric for metric in (*METRICS, *WAITING, *UNTIL_EXIT)}
"""All metrics but those that worker files declare."""
METRIC_ORDER = (
    "real", "user", "system", "cpu", "idle", "wakeups", "syscalls", "latency", "startup", "rss",
    "memory", "window", "cpu-window", "restarts", "service-cpu", "service-requests",
)  # fmt: skip
"""The metrics that a reader can act on, in their order in outputs; all others follow."""

WAKEUP_COST_S = 5e-5
"""An estimate of the CPU time that a wake-up costs."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of waiting at a line of code, or in a thread or a process."""

    wakeups_per_s: float = 0.0
    cores: float = 0.0

    @property
    def estimated_cores(self) -> float:
        """The cores, or the estimated cores of the wake-ups if higher; it sorts costs."""
        return max(self.cores, self.wakeups_per_s * WAKEUP_COST_S)

    @staticmethod
    def total(costs: Iterable["Cost"]) -> "Cost":
        costs = list(costs)
        return Cost(
            wakeups_per_s=sum(cost.wakeups_per_s for cost in costs),
            cores=sum(cost.cores for cost in costs),
        )


@dataclass(frozen=True, kw_only=True)
class Instruments:
    """The optional counters that this machine's kernel allows."""

    tracepoint: int | None = None
    """The kernel's number of the counter of system calls; ``None`` if it is not available."""
    reason: str = ""
    """Why it is not available."""
    remedy: str = ""
    """A command or setting that would make it available."""

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the metrics that these counters measure."""
        return frozenset(() if self.tracepoint is None else (SYSTEM_CALLS,))

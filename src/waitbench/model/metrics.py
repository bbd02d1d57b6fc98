"""Metrics: each quantity's name for people, its key in files, its unit."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

_MOST = 10**15
"""No quantity that we measure comes near; sums, squares and ratios of such numbers stay finite."""
Count = Annotated[int, Meta(ge=-_MOST, le=_MOST)]
"""A whole number, as files may have it."""
Finite = Annotated[float, Meta(ge=-_MOST, le=_MOST)]
Quantity = Count | Finite
"""A number, as files may have it: finite; a whole one stays whole."""
BEYOND = float(_MOST)
"""What counts as the value where a time limit passed first: ranks need no more than that it is the
greatest."""

FileName = Annotated[str, Meta(pattern=r"\A[^/\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}\Z")]
"""What files may be named after: they are visible then, and in their own folder."""

OWN = "own_"
"""What the keys of metrics begin with that worker files declare."""


class Metric(Struct, frozen=True, omit_defaults=True):
    """One quantity of a run."""

    name: str
    """On the command line and in tables."""
    key: str
    """In result files; hyperfine's own where it has one."""
    unit: str
    title: str
    """In charts and sentences."""
    explains: str | None = None
    """The name of the cost that it explains; ``None`` for a cost, and for what is neither.

    What explains a cost is a regression only where that cost did not certainly fall.
    """

    @property
    def is_of_window(self) -> bool:
        """Whether it says what the workers did in the window, and only there."""
        return self.key.endswith("_idle") or self.explains == "idle"

    @property
    def is_of_services(self) -> bool:
        """Whether it says what services did for the worker."""
        return self in SERVICES

    @property
    def is_own(self) -> bool:
        """Whether a worker file declares it, and what is measured writes it."""
        return self.key.startswith(OWN)

    @property
    def is_of_command(self) -> bool:
        """Whether it says what a command is for: it writes it, or ends by itself."""
        return self.is_own or self.name in ("window", "cpu-window")

    @property
    def resolution(self) -> float:
        """The smallest value that a ratio is taken of; what is below counts as this.

        CPU time can be 0, and below 1 ms says nothing. Its split into user and system time is
        sampled, at each tick of 4 ms in most kernels. A single wake-up where there was none means
        nothing: a component of a cost counts from 5 a run, any other count from 1, and memory that
        grows from some pages a minute.
        """
        if self.key == MEMORY_GROWTH:
            return 2.0**16
        if self.key.startswith(("time_user", "time_system")):
            return 4e-3
        if self.key.startswith("time_cpu"):
            return 1e-3
        if self.unit != "count":
            return 1e-9
        if "_per_" in self.key:
            return 1e-2
        return 5.0 if self.explains else 1.0


WINDOW = "time_window"
"""The key of how long a window was, which each run has that has one."""
FOREIGN_CPU = "machine_foreign_cpu"
"""The key of what other programs used during a run."""
STEAL = "machine_steal"
"""The key of what a hypervisor took."""
FOREIGN_ALLOWED_S = 0.25
"""What the gate allows them beside any run, whatever it is beside the baseline's."""
SYSTEM_CALLS = "system_calls"
"""The key of what not every machine can count; see ``Instruments``."""
MEMORY_GROWTH = "memory_growth"
"""The key of what memory grows by while nothing is to be done."""
INSTRUMENTED = frozenset({SYSTEM_CALLS})
"""The metrics that not every machine gives, by their key."""
BY_SECOND = frozenset(
    {"polls", "wakeups", "syscalls", "service-cpu", "service-requests", "service-bytes"}
)
"""The names of what grows with the window, and is given by the second of it beside other figures.

Idle CPU by the second has a name of its own, ``share``.
"""
IDLE_USER = "time_user_idle"
IDLE_SYSTEM = "time_system_idle"
"""The keys of the split of the workers' idle CPU, by the kernel's ticks."""

METRICS = (
    Metric("real", "time_wall_clock", "second", "real time"),
    Metric("user", "time_user", "second", "user time"),
    Metric("system", "time_system", "second", "system time", explains="cpu"),
    Metric("cpu", "time_cpu", "second", "total CPU"),
    Metric("rss", "memory_peak_resident", "byte", "peak memory"),
    # Where the CPU time went: the first two and shutdown add up to all of it.
    Metric("cpu-startup", "time_cpu_startup", "second", "start-up CPU"),
    Metric("idle", "time_cpu_idle", "second", "idle CPU"),
    Metric("idle-user", IDLE_USER, "second", "idle user time", explains="idle"),
    Metric("idle-system", IDLE_SYSTEM, "second", "idle system time", explains="idle"),
    Metric("cpu-shutdown", "time_cpu_shutdown", "second", "shutdown CPU"),
    Metric("cpu-launcher", "time_cpu_launcher", "second", "the launcher's CPU"),
    Metric("cpu-running", "time_cpu_running", "second", "CPU after start-up"),
    # What the workers did.
    Metric("share", "cpu_share_idle", "core", "idle CPU per second"),
    Metric("startup", "time_startup", "second", "start-up"),
    Metric("shutdown", "time_shutdown", "second", "shutdown"),
    Metric("polls", "polls", "count", "polls", explains="idle"),
    Metric("wakeups", "wakeups", "count", "wake-ups while waiting", explains="idle"),
    Metric("syscalls", SYSTEM_CALLS, "count", "system calls while waiting", explains="idle"),
    Metric("polls-per-item", "polls_per_item", "count", "polls per item"),
    Metric("switches", "context_switches_voluntary", "count", "voluntary context switches"),
    Metric("preemptions", "context_switches_involuntary", "count", "involuntary context switches"),
    # How late items were, from due to sink.
    Metric("latency", "item_latency_p99", "second", "lateness p99"),
    Metric("latency-p50", "item_latency_p50", "second", "median lateness"),
    Metric("latency-max", "item_latency_max", "second", "greatest lateness"),
    # What else the machine did meanwhile.
    Metric("foreign-cpu", FOREIGN_CPU, "second", "CPU of other programs"),
    Metric("steal", STEAL, "second", "steal time"),
    Metric("items-in", "items_in", "count", "items in"),
    Metric("items", "items_out", "count", "items out"),
)

"""What every run may give."""

SEEN_FROM_OUTSIDE = tuple(
    metric
    for metric in METRICS
    if metric.name in ("real", "user", "system", "cpu", "rss", "switches", "preemptions")
    or metric.key.startswith("machine_")
)
"""What a run gives whose workers say nothing of themselves, such as a user's own dataflow."""

MEMORY = Metric("memory", "memory_proportional", "byte", "memory of all processes (PSS)")
"""That of what is counted from outside."""
GROWTH = Metric("memory-growth", MEMORY_GROWTH, "byte", "memory growth a minute")
"""That of what waits: what rises within the window, without pages of files."""
STOP = Metric("stop", "time_stop", "second", "time to end")
"""That of what ends only when it is told to."""

SERVICE_REQUESTS, SERVICE_BYTES = "service_requests", "service_bytes"
"""Keys of what is known of services that run, and not of those that a phase has stopped."""
SERVICES = (
    Metric("service-cpu", "service_cpu_idle", "second", "the services' CPU"),
    Metric("service-requests", SERVICE_REQUESTS, "count", "requests to the services"),
    Metric("service-bytes", SERVICE_BYTES, "byte", "bytes to and from the services"),
)
"""What services did for a worker within its window."""

BY_NAME = {metric.name: metric for metric in METRICS}


@dataclass(frozen=True, kw_only=True)
class Instruments:
    """What the kernel counts on this machine besides CPU time and switches."""

    tracepoint: int | None = None
    """What system calls are counted by, as the kernel numbers it; ``None`` where they cannot be."""
    reason: str = ""
    """Why they cannot be."""
    remedy: str = ""
    """The command that would mend that."""

    @property
    def keys(self) -> frozenset[str]:
        """The metrics that it gives, by their key."""
        return frozenset() if self.tracepoint is None else INSTRUMENTED

"""What is measured: each metric's name for people, its key in files, and its unit. The only list of them."""

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


METRICS = (
    Metric("real", "time_wall_clock", "second", "real time"),
    Metric("user", "time_user", "second", "user time"),
    Metric("system", "time_system", "second", "system time"),
    Metric("cpu", "time_cpu", "second", "CPU time"),
    Metric("rss", "memory_peak_resident", "byte", "peak memory"),
    # Where the CPU time went. The five add up to what the launcher saw; see harness/accounting.py.
    Metric("cpu-startup", "time_cpu_startup", "second", "start-up CPU"),
    Metric("steady", "time_cpu_steady", "second", "the workers' steady CPU"),
    Metric("cpu-shutdown", "time_cpu_shutdown", "second", "shutdown CPU"),
    Metric("cpu-helpers", "time_cpu_helpers", "second", "CPU of programs that workers started"),
    Metric("cpu-launcher", "time_cpu_launcher", "second", "the launcher's CPU"),
    # What the workers did.
    Metric("share", "cpu_share_steady", "core", "CPU per waiting second"),
    Metric("startup", "time_startup", "second", "start-up"),
    Metric("polls", "polls", "count", "polls"),
    Metric("polls-per-item", "polls_per_item", "count", "polls per item"),
    Metric("switches", "context_switches_voluntary", "count", "voluntary context switches"),
    Metric("preemptions", "context_switches_involuntary", "count", "involuntary context switches"),
    # How late items were, from due to sink.
    Metric("latency", "item_latency_p99", "second", "lateness at p99"),
    Metric("latency-p50", "item_latency_p50", "second", "median lateness"),
    Metric("latency-max", "item_latency_max", "second", "greatest lateness"),
    # A family's own.
    Metric("lines", "lines_per_call", "count", "lines per call"),
    Metric("call-time", "call_time_p99", "second", "call time at p99"),
    Metric("call-time-max", "call_time_max", "second", "longest call"),
    Metric("call-user", "call_user", "second", "the worker's user time per call"),
    Metric("call-system", "call_system", "second", "the worker's system time per call"),
    Metric("model-user", "call_model_user", "second", "the model's user time per call"),
    Metric("model-system", "call_model_system", "second", "the model's system time per call"),
    Metric("request-time", "request_latency_p99", "second", "request time at p99"),
    Metric("request-time-p50", "request_latency_p50", "second", "median request time"),
    Metric("proxy-cpu", "service_cpu_proxy", "second", "the proxy's CPU"),
    Metric("embedder-cpu", "service_cpu_embedder", "second", "the embedder's CPU"),
    Metric("upstream-calls", "upstream_calls", "count", "upstream calls"),
    Metric("sent", "messages_sent", "count", "messages sent"),
    Metric("dropped", "messages_dropped", "count", "messages dropped"),
    Metric("bytes-held", "bytes_held_peak", "byte", "bytes held at most"),
    # What else the machine did meanwhile.
    Metric("foreign-cpu", "machine_foreign_cpu", "second", "CPU of others"),
    Metric("steal", "machine_steal", "second", "steal time"),
    Metric("pressure", "machine_pressure", "second", "CPU pressure"),
    Metric("load", "machine_load", "count", "load average"),
    Metric("items-in", "items_in", "count", "items in"),
    Metric("items", "items_out", "count", "items out"),
)

BY_NAME = {metric.name: metric for metric in METRICS}

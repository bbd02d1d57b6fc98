"""The metrics of workers that are commands, beside those of all."""

from waitbench.engines.worker import written
from waitbench.model.metrics import IDLE_SYSTEM, IDLE_USER, MEMORY, METRICS, STOP, Metric
from waitbench.model.worker import WorkerFile

_OF_SERVICES = (
    Metric("service-cpu", "service_cpu_idle", "second", "the services' CPU while it waited"),
    Metric("service-requests", "service_requests", "count", "requests to the services"),
    Metric("service-bytes", "service_bytes", "byte", "bytes to and from the services"),
)
WAITING = (
    STOP,
    MEMORY,
    Metric("restarts", "processes_replaced", "count", "processes that began while it waited"),
    *_OF_SERVICES,
)
"""What those give that wait until they are told to end."""
UNTIL_EXIT = (
    Metric("window", "time_window", "second", "time from ready to its end"),
    Metric("cpu-window", "time_cpu_window", "second", "CPU from ready to its end"),
    *_OF_SERVICES,
)
"""What those give that end by themselves."""
LATENESS = frozenset({"item_latency_p50", "item_latency_p99", "item_latency_max"})
"""Keys of what only those give that are woken up."""


_MISSING = frozenset({"memory_peak_resident", "time_shutdown", IDLE_USER, IDLE_SYSTEM})
"""Keys of what runs do not give that are counted from outside.

There the kernel counts user and system time together. The greatest peak of one process would be our
launcher's where the worker is small. What is told to end has no shutdown of its own accord:
``stop`` is the time that it takes.
"""


def metrics_of(worker: WorkerFile, *, is_poked: bool) -> tuple[Metric, ...]:
    """Everything that a run of a worker may give."""
    missing = set(_MISSING if is_poked else _MISSING | LATENESS)
    if worker.ends_by_itself:
        # It works, and so nothing of it is what waiting costs.
        missing |= {metric.key for metric in METRICS if metric.is_of_window}
        missing.add("time_cpu_shutdown")
    common = (metric for metric in METRICS if metric.key not in missing)
    return (*common, *(UNTIL_EXIT if worker.ends_by_itself else WAITING), *own_metrics(worker))


def own_metrics(worker: WorkerFile) -> tuple[Metric, ...]:
    """Those that its file declares."""
    return tuple(
        one for name, file in worker.metrics.items() for one in written.metrics_of(name, file)
    )

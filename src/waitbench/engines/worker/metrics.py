"""The metrics of workers that are commands, beside those of all."""

from collections.abc import Iterable

from waitbench.engines.worker import written
from waitbench.model.metrics import (
    GROWTH,
    IDLE_SYSTEM,
    IDLE_USER,
    MEMORY,
    METRICS,
    SERVICE_BYTES,
    SERVICE_REQUESTS,
    SERVICES,
    STOP,
    WINDOW,
    Metric,
)
from waitbench.model.worker import WorkerFile

WAITING = (
    STOP,
    MEMORY,
    GROWTH,
    Metric("restarts", "processes_replaced", "count", "processes that began while it waited"),
    *SERVICES,
)
"""What those give that wait until they are told to end."""
UNTIL_EXIT = (
    Metric("window", WINDOW, "second", "time from ready to its end"),
    Metric("cpu-window", "time_cpu_window", "second", "CPU from ready to its end"),
    *SERVICES,
)
"""What those give that end by themselves."""
LATENESS = frozenset({"item_latency_p50", "item_latency_p99", "item_latency_max"})
"""Keys of what only those give that are woken up."""
START_UP = "time_startup"
"""The key of what only those give that show when they are ready."""
REQUESTS = frozenset({SERVICE_REQUESTS, SERVICE_BYTES})
"""Keys of what only those give whose services count, and run."""

_MISSING = frozenset({"memory_peak_resident", "time_shutdown", IDLE_USER, IDLE_SYSTEM})
"""Keys of what runs do not give that are counted from outside.

There the kernel counts user and system time together. The greatest peak of one process would be our
launcher's where the worker is small. What is told to end has no shutdown of its own accord:
``stop`` is the time that it takes.
"""


def metrics_of(worker: WorkerFile, absent: Iterable[str] = ()) -> tuple[Metric, ...]:
    """Everything that a run of a worker may give, without the metrics that have these keys."""
    missing = {*_MISSING, *absent}
    if not worker.services:
        missing |= {metric.key for metric in SERVICES}
    if worker.ends_by_itself:
        # It works, and so nothing of it is what waiting costs.
        missing |= {metric.key for metric in METRICS if metric.is_of_window}
        missing.add("time_cpu_shutdown")
    common = (*METRICS, *(UNTIL_EXIT if worker.ends_by_itself else WAITING))
    return (*(metric for metric in common if metric.key not in missing), *own_metrics(worker))


def own_metrics(worker: WorkerFile) -> tuple[Metric, ...]:
    """Those that its file declares."""
    return tuple(
        one for name, file in worker.metrics.items() for one in written.metrics_of(name, file)
    )

"""Metrics of worker files, beside those of all runs."""

from collections.abc import Iterable
from itertools import chain

from waitbench.engines.worker.own_metrics import declared_metrics
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
UNTIL_EXIT = (
    Metric("window", WINDOW, "second", "time from ready to its end"),
    Metric("cpu-window", "time_cpu_window", "second", "CPU from ready to its end"),
    *SERVICES,
)
LATENESS = frozenset({"item_latency_p50", "item_latency_p99", "item_latency_max"})
"""Keys that need a poke."""
START_UP = "time_startup"
"""The key that needs a condition of readiness."""
REQUESTS = frozenset({SERVICE_REQUESTS, SERVICE_BYTES})
"""Keys that need services that run and are counted."""

_MISSING = frozenset({"memory_peak_resident", "time_shutdown", IDLE_USER, IDLE_SYSTEM})
"""Keys that runs counted from outside lack.

The kernel counts user and system time together. The highest peak of a process would be our
launcher's if the worker is small. ``stop`` replaces the shutdown time of a worker that ends by
itself.
"""


def metrics_of(worker: WorkerFile, absent: Iterable[str] = ()) -> tuple[Metric, ...]:
    """Returns all metrics of a worker's runs, without those that have the keys ``absent``."""
    missing = {*_MISSING, *absent}
    if not worker.services:
        missing |= {metric.key for metric in SERVICES}
    if worker.ends_by_itself:
        # It works: none of its CPU is the cost of waiting.
        missing |= {metric.key for metric in METRICS if metric.is_of_window}
        missing.add("time_cpu_shutdown")
    common = (*METRICS, *(UNTIL_EXIT if worker.ends_by_itself else WAITING))
    declared = (declared_metrics(name, file) for name, file in worker.metrics.items())
    metrics = (metric for metric in common if metric.key not in missing)
    return (*metrics, *chain.from_iterable(declared))

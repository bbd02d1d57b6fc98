"""Family ``worker``: workers that are commands, each described by a file of the user's.

Its scenarios are made of such files: ``scenarios.py``.
"""

from waitbench.model import metrics
from waitbench.model.metrics import MEMORY, NOT_OF_COMMANDS, Metric

METRICS = (
    Metric("ready", "time_ready", "second", "time to ready"),
    Metric("stop", "time_stop", "second", "time to end when told"),
    MEMORY,
    Metric("restarts", "processes_replaced", "count", "processes that began while it waited"),
    Metric("service-cpu", "service_cpu_steady", "second", "the services' CPU while it waited"),
    Metric("service-requests", "service_requests", "count", "requests to the services"),
    Metric("service-bytes", "service_bytes", "byte", "bytes to and from the services"),
)

OF_SERVICES = tuple(metric for metric in METRICS if metric.name.startswith("service-"))
UNTIL_EXIT = (
    Metric("ready", "time_ready", "second", "time to ready"),
    Metric("window", "time_window", "second", "time from ready to its end"),
    Metric("cpu-window", "time_cpu_window", "second", "CPU from ready to its end"),
    *OF_SERVICES,
)
"""The same of a command that ends by itself."""
NOT_UNTIL_EXIT = NOT_OF_COMMANDS | {
    metric.key
    for metric in metrics.METRICS
    if metric.is_of_steady_phase
    or metric.name == "cpu-shutdown"
    or metric.key.startswith("item_latency_")
}
"""Keys of what is not asked of it: it works, and so nothing of it is what waiting costs."""

OF_SERVICE = {
    "cpu": ("service_cpu_steady", "second", "CPU of {} while the worker waited"),
    "requests": ("service_requests", "count", "requests to {}"),
    "bytes": ("service_bytes", "byte", "bytes to and from {}"),
}
"""What is known of each service: the key before its name, the unit, and the title."""


def metrics_of_service(service: str, *, counts: bool) -> tuple[Metric, ...]:
    """The metrics of one service, which are parts of those of all; what counts has all of them."""
    return tuple(
        Metric(f"service-{kind}-{service}", f"{key}_{service}", unit, title.format(service))
        for kind, (key, unit, title) in OF_SERVICE.items()
        if counts or kind == "cpu"
    )

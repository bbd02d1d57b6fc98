"""Family ``worker``: workers that are commands, each described by a file of the user's.

Its scenarios are made of such files: ``scenarios.py``.
"""

from waitbench.model.metrics import MEMORY, Metric

METRICS = (
    Metric("ready", "time_ready", "second", "time to ready"),
    Metric("stop", "time_stop", "second", "time to end when told"),
    MEMORY,
    Metric("restarts", "processes_replaced", "count", "processes that began while it waited"),
    Metric("service-cpu", "service_cpu_steady", "second", "the services' CPU while it waited"),
    Metric("service-requests", "service_requests", "count", "requests to the services"),
    Metric("service-bytes", "service_bytes", "byte", "bytes to and from the services"),
)

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

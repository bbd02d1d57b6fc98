"""Family ``worker``: workers that are commands, each described by a file of the user's.

Its scenarios are made of such files: ``scenarios.py``.
"""

from waitbench.model.metrics import Metric

METRICS = (
    Metric("ready", "time_ready", "second", "time to ready"),
    Metric("memory", "memory_proportional", "byte", "memory of all processes (PSS)"),
    Metric("restarts", "processes_replaced", "count", "processes that began while it waited"),
    Metric("service-cpu", "service_cpu_steady", "second", "the services' CPU while it waited"),
    Metric("service-requests", "service_requests", "count", "requests to the services"),
    Metric("service-bytes", "service_bytes", "byte", "bytes to and from the services"),
)

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


METRICS = (
    Metric("real", "time_wall_clock", "second", "real time"),
    Metric("user", "time_user", "second", "user time"),
    Metric("system", "time_system", "second", "system time"),
    Metric("cpu", "time_cpu", "second", "CPU time"),
    Metric("rss", "memory_peak_resident", "byte", "peak memory"),
    Metric("polls", "polls", "count", "polls"),
    Metric("items", "items_out", "count", "items out"),
)

BY_NAME = {metric.name: metric for metric in METRICS}

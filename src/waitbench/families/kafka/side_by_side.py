"""Engines side by side: what waiting for a broker costs, and what that buys."""

from waitbench.analysis.side_by_side import (
    Figure,
    SideBySide,
    cpu_of_item,
    late_of,
    share_of,
    start_and_memory,
)

_WAITS = "-long-input"
_SHARE = share_of("messages due", _WAITS)
_LATE_P99 = late_of("late, p99", _WAITS, "p99")

SIDE_BY_SIDE = SideBySide(
    title="kafka",
    groups={
        "what waiting costs, % of a core": (
            share_of("idle", "-idle"),
            share_of("bursts", "-burst"),
            share_of("one left", "-ended"),
            _SHARE,
        ),
        "a message, ms": (
            cpu_of_item("CPU, waiting", _WAITS),
            cpu_of_item("CPU, busy", "-busy"),
            late_of("late, median", _WAITS, "p50"),
            _LATE_P99,
        ),
        "start and memory": (
            *start_and_memory(_WAITS),
            Figure(title="threads", scenario=_WAITS, of_run=lambda run: run["worker_threads"]),
        ),
    },
    share=_SHARE,
    late=_LATE_P99,
)

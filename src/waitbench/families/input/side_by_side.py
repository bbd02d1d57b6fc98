"""Engines side by side: what waiting for input costs, and what that buys."""

from waitbench.analysis.side_by_side import (
    Figure,
    SideBySide,
    cpu_of_item,
    late_of,
    share_of,
    start_and_memory,
)

_WAITS = "-long-input"
_SHARE = share_of("items due", _WAITS)
_LATE_P99 = late_of("late, p99", _WAITS, "p99")

SIDE_BY_SIDE = SideBySide(
    title="engines",
    groups={
        "what waiting costs, % of a core": (
            share_of("idle", "-idle"),
            share_of("windowed", "-windowed"),
            share_of("one left", "-ended"),
            _SHARE,
        ),
        "an item, ms": (
            cpu_of_item("CPU, waiting", _WAITS),
            Figure(
                title="CPU, busy",
                scenario="-heavy-map",
                # With what comes behind the end of the input: an engine may read all, then work.
                of_run=lambda run: (
                    (run["time_cpu_steady"] + run["time_cpu_shutdown"]) / run["items_out"] * 1e3
                ),
            ),
            late_of("late, median", _WAITS, "p50"),
            _LATE_P99,
        ),
        "start and memory": start_and_memory(_WAITS),
    },
    share=_SHARE,
    late=_LATE_P99,
)

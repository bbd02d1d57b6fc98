"""Traces made by hand."""

from collections.abc import Mapping

from waitbench.model.run import PHASES, STEADY, Calls, Trace


def trace(label: str, counts: Mapping[str, int], *, phase: str = STEADY, s: float = 1.0) -> Trace:
    """A trace with these counts in one phase; each call takes a microsecond, each phase ``s``."""
    return Trace(
        label=label,
        lasted_s=dict.fromkeys(PHASES, s),
        calls={
            (phase, name): Calls(count=count, cpu_s=count / 1e6) for name, count in counts.items()
        },
    )

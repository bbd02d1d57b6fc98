"""What a worker costs while it waits, by the second. Pure, and derived from what runs say anyway.

Two metrics say all of it: the CPU that the workers used in the steady phase, and that per second of
it. Their quotient is how long the phase was, by which counts become counts a second.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from waitbench.analysis.statistics import Comparison
from waitbench.model.estimate import Estimate
from waitbench.model.metrics import BY_SECOND


@dataclass(frozen=True, kw_only=True)
class IdleCost:
    """What one revision costs while it waits in one scenario: all processes of a run together."""

    cores: Estimate
    """How many it keeps busy."""
    window_s: float
    """How long the steady phase was."""
    figures: Mapping[str, float]
    """By the metric's name; what is counted is by the second."""


def idle_cost(of: Comparison, label: str) -> IdleCost | None:
    """What a revision costs; ``None`` where nobody knows when its workers waited."""
    means = of.means(label)
    known = {name: estimate.value for name, estimate in means.items()}
    if not {"share", "steady"} <= known.keys():
        return None
    window_s = known["steady"] / known["share"] if known["share"] > 0 else 0.0
    # Without any CPU nobody knows how long it took to count something.
    unknown = {name for name in BY_SECOND if not window_s and known.get(name)}
    figures = {
        name: value / (window_s or 1.0) if name in BY_SECOND else value
        for name, value in known.items()
        if name not in unknown
    }
    return IdleCost(cores=means["share"], window_s=window_s, figures=figures)

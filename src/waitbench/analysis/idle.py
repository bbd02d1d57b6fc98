"""What a worker costs while it waits, by the second."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from waitbench.analysis.statistics import Comparison
from waitbench.model.estimate import Estimate
from waitbench.model.metrics import BY_SECOND


@dataclass(frozen=True, kw_only=True)
class IdleCost:
    """What one revision costs while it waits in one scenario: all processes of a run together."""

    cores: Estimate
    """How many it keeps busy."""
    window_s: float
    """How long the window was."""
    figures: Mapping[str, float]
    """By the metric's name; what is counted is by the second."""


def idle_cost(of: Comparison, label: str) -> IdleCost | None:
    """What a revision costs; ``None`` where nobody knows when its workers waited."""
    means = of.means(label)
    if "share" not in means:
        return None
    found = (of.record.window_s(run) for run in of.record.of(label))
    windows = [window_s for window_s in found if window_s is not None]
    window_s = fmean(windows) if windows else 0.0
    figures = {
        name: one.value / window_s if name in BY_SECOND else one.value
        for name, one in means.items()
        if window_s or name not in BY_SECOND
    }
    return IdleCost(cores=means["share"], window_s=window_s, figures=figures)

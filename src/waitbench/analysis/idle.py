"""The cost of a waiting worker per second."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from waitbench.analysis.statistics import Comparison
from waitbench.model.estimate import Estimate
from waitbench.model.metrics import BY_SECOND


@dataclass(frozen=True, kw_only=True)
class IdleCost:
    """The cost of all processes of one revision in one scenario."""

    cores: Estimate
    window_s: float
    figures: Mapping[str, float]
    """By the metric's name; counts are per second."""


def idle_cost(comparison: Comparison, label: str) -> IdleCost | None:
    """The cost of a revision; ``None`` if its windows are unknown."""
    means = comparison.means(label)
    if "share" not in means:
        return None
    record = comparison.record
    windows = [s for run in record.of(label) if (s := record.window_s(run)) is not None]
    window_s = fmean(windows) if windows else 0.0
    figures = {
        name: mean.value / window_s if name in BY_SECOND else mean.value
        for name, mean in means.items()
        if window_s or name not in BY_SECOND
    }
    return IdleCost(cores=means["share"], window_s=window_s, figures=figures)

"""Estimates with confidence intervals, and the verdicts on ratios."""

from dataclasses import dataclass

from waitbench.model.verdicts import Verdict

MARGIN = 0.05
"""Smaller changes do not count. The gate has margins of its own."""
NEGLIGIBLE = 0.10
"""Nothing changed if the interval of a ratio contains 1 and lies within this share of it."""


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval; too few runs have no bounds."""

    value: float
    low: float | None
    high: float | None
    count: int
    is_bound: bool = False
    """Whether the ratio is a lower bound of the change: one side was below the resolution."""

    @property
    def verdict(self) -> Verdict:
        if self.low is None or self.high is None:
            return Verdict.INCONCLUSIVE
        contains_1 = self.low <= 1 <= self.high
        margin = NEGLIGIBLE if contains_1 else MARGIN
        if self.low >= 1 - margin and self.high <= 1 + margin:
            return Verdict.WITHIN_MARGIN
        if contains_1:
            return Verdict.INCONCLUSIVE
        return Verdict.FASTER if self.high < 1 else Verdict.SLOWER

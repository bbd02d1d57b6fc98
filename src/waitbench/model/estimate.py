"""Estimates with their confidence intervals, and what that of a ratio says."""

from dataclasses import dataclass

from waitbench.model.verdicts import Verdict

MARGIN = 0.05
"""Ratios within 1 / 1.05 … 1.05 count as the same; the gate has margins of its own.

A change point of a history must certainly exceed it.
"""


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval; ``low`` and ``high`` are ``None`` for too few runs."""

    value: float
    low: float | None
    high: float | None
    count: int
    is_bound: bool = False
    """Whether one side of a ratio was next to nothing: it is at least so far from 1."""

    @property
    def verdict(self) -> Verdict:
        """What a ratio to the baseline says."""
        if self.low is None or self.high is None:
            return Verdict.INCONCLUSIVE
        if self.low >= 1 / (1 + MARGIN) and self.high <= 1 + MARGIN:
            return Verdict.WITHIN_MARGIN
        if self.low <= 1 <= self.high:
            return Verdict.INCONCLUSIVE
        return Verdict.FASTER if self.high < 1 else Verdict.SLOWER

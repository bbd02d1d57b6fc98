"""Estimates with confidence intervals; verdicts on ratios and questions; outcomes of the gate."""

from dataclasses import dataclass
from enum import Enum

MARGIN = 0.05
"""Smaller changes do not count. The gate has margins of its own."""
NEGLIGIBLE = 0.10
"""Nothing changed if the interval of a ratio contains 1 and lies within this share of it."""


class Verdict(str, Enum):
    """The verdict on a ratio, or on a question of the gate."""

    FASTER = "faster"
    SLOWER = "slower"
    """A certain rise beyond the margin and the allowance, or certainly more outliers."""
    WITHIN_MARGIN = "within margin"
    """No rise, or a rise that is certainly less than the margin and the allowance."""
    EXPLAINED = "explained"
    """A rise of a component while the total cost certainly fell by a tenth."""
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURED = "not measured"
    """No data: runs failed, or lack the metric."""


class GateStatus(str, Enum):
    """The gate's outcome: the first of these that applies."""

    FAIL = "fail"
    NOT_MEASURED = "not measured"
    INCONCLUSIVE = "inconclusive"
    PASS = "pass"  # noqa: S105


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

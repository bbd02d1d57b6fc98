"""Estimates with confidence intervals; verdicts on ratios and questions; outcomes of the gate."""

from dataclasses import dataclass, replace
from enum import Enum

MARGIN = 0.05
"""Without a gate, a change is within margin if its whole interval is so close to 1."""
NEGLIGIBLE = 0.10
"""The margin of ratios whose interval contains 1."""


class Verdict(str, Enum):
    """The verdict on a ratio, or on a question of the gate."""

    FASTER = "faster"
    SLOWER = "slower"
    """A significant rise beyond the margin and the allowance, or significantly more outliers."""
    WITHIN_MARGIN = "within margin"
    """Any rise is significantly less than the margin and the allowance."""
    EXPLAINED = "explained"
    """A rise of a component of a cost, such as wake-ups, while the cost itself fell by a tenth."""
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURED = "not measured"
    """No data: runs failed, or lack the metric."""


CERTAIN = (Verdict.FASTER, Verdict.SLOWER)
PASSING = (Verdict.FASTER, Verdict.WITHIN_MARGIN)


class GateStatus(str, Enum):
    """The result of the gate. If several apply, the first in this order is the result."""

    FAIL = "fail"
    NOT_MEASURED = "not measured"
    INCONCLUSIVE = "inconclusive"
    PASS = "pass"  # noqa: S105


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval, whose bounds are ``None`` for too few runs."""

    value: float
    low: float | None
    high: float | None
    count: int
    is_bound: bool = False
    """Whether the true change may be greater, as one side is below the metric's resolution."""

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

    def with_value(self, value: float) -> "Estimate":
        """Returns an estimate with another value, to which the interval is extended."""
        low, high = self.low and min(self.low, value), self.high and max(self.high, value)
        return replace(self, value=value, low=low, high=high)

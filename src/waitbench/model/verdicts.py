"""The verdicts on ratios and questions of the gate, and the outcomes of the gate."""

from enum import Enum


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


class GateOutcome(str, Enum):
    """The gate's outcome: the first of these that applies."""

    FAIL = "fail"
    NOT_MEASURED = "not measured"
    INCONCLUSIVE = "inconclusive"
    PASS = "pass"  # noqa: S105

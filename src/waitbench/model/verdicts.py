"""The words of every verdict: of a ratio, of a question of the gate, and of the gate itself."""

from enum import Enum


class Verdict(str, Enum):
    """What is known of one ratio, or of one question of the gate."""

    FASTER = "faster"
    """It certainly fell."""
    SLOWER = "slower"
    """It certainly rose, by more than the margin and the floor, or more runs are certainly dear."""
    WITHIN_MARGIN = "within margin"
    """It certainly rose by less than the margin and the floor, if at all."""
    EXPLAINED = "explained"
    """What explains a cost rose, and the cost certainly fell by a tenth."""
    INCONCLUSIVE = "inconclusive"
    """None of these is certain."""
    NOT_MEASURED = "not measured"
    """There is nothing that an answer could rest on: runs failed, or lack the metric."""


class GateOutcome(str, Enum):
    """What the gate says of a comparison; each has its exit code."""

    FAIL = "fail"
    """A criterion failed."""
    NOT_MEASURED = "not measured"
    """None failed, and something could not be measured."""
    INCONCLUSIVE = "inconclusive"
    """None failed, all was measured, and a question has no certain answer."""
    PASS = "pass"  # noqa: S105
    """Every question was answered, and no answer is a regression."""

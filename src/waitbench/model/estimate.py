"""Estimates with their confidence intervals, and what that of a ratio says."""

from dataclasses import dataclass

from waitbench.model.verdicts import Verdict

MARGIN = 0.05
"""A certain change beyond this share is one; the gate has margins of its own.

A change point of a history must certainly exceed it.
"""
NEGLIGIBLE = 0.10
"""Where nothing is certain but that a ratio lies within this share of 1, nothing changed."""


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
        holds_one = self.low <= 1 <= self.high
        margin = NEGLIGIBLE if holds_one else MARGIN
        if self.low >= 1 - margin and self.high <= 1 + margin:
            return Verdict.WITHIN_MARGIN
        if holds_one:
            return Verdict.INCONCLUSIVE
        return Verdict.FASTER if self.high < 1 else Verdict.SLOWER

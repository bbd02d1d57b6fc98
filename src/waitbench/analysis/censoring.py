"""Right-censored costs: pairs in which one side or both exceeded a time limit.

A censored cost ranks above all others. Two censored costs are a tie.
"""

from __future__ import annotations

from dataclasses import dataclass

from waitbench.analysis.rule import Pairs, chance_of_heads
from waitbench.model.metrics import BEYOND

NOT_WITHIN = "not within"
BOTH_AFTER = 3
"""Rounds that both sides missed in a scenario until it is given up."""


@dataclass(frozen=True, kw_only=True)
class Missed:
    """The numbers of pairs that missed a time limit, on one side or on both."""

    within: float
    candidate: int
    baseline: int
    both: int
    pairs: int

    @classmethod
    def count(cls, pairs: Pairs, within: float) -> Missed | None:
        """Counts the pairs; ``None`` where no side missed the limit."""
        sides = [
            tuple(cost >= BEYOND for cost in pair) for scenarios in pairs for pair in scenarios
        ]
        candidate, baseline, both = map(sides.count, ((False, True), (True, False), (True, True)))
        if not candidate + baseline + both:
            return None
        return cls(
            within=within, candidate=candidate, baseline=baseline, both=both, pairs=len(sides)
        )

    @property
    def chance(self) -> float:
        """The chance of so many misses by the candidate, by the sign test."""
        return chance_of_heads(self.candidate, self.candidate + self.baseline)


def not_within(seconds: float) -> str:
    """Stands in place of a figure that exceeds a time limit."""
    return f"{NOT_WITHIN} {seconds:g} s"


def both_missed(pairs: Pairs) -> bool:
    """Whether both sides missed the limit in all rounds of a scenario, and in enough of them."""
    return len(pairs) >= BOTH_AFTER and any(
        all(min(pair) >= BEYOND for pair in scenario) for scenario in zip(*pairs, strict=True)
    )


def tied(pairs: Pairs, margin: float, allowance: float) -> Pairs:
    """The pairs, where a candidate's cost in a tie is set to the allowed cost."""
    return tuple(
        tuple(
            (before, before * (1 + margin) + allowance if min(before, after) >= BEYOND else after)
            for before, after in scenarios
        )
        for scenarios in pairs
    )

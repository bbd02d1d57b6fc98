"""Pairs of which a time limit passed on one side, or on both: right-censored costs.

What exceeds its time limit ranks above whatever does not. Where both sides exceed it, nobody knows
which costs more: such a pair is a tie, which is on neither side.
"""

from __future__ import annotations

from dataclasses import dataclass

from waitbench.analysis.rule import Pairs, chance_of_heads
from waitbench.model.metrics import BEYOND

NOT_WITHIN = "not within"
BOTH_AFTER = 3
"""Rounds that both sides missed in a scenario, after which there is nothing to compare."""


@dataclass(frozen=True, kw_only=True)
class Missed:
    """How often a time limit passed first, on one side alone or on both."""

    within: float
    """The time limit, in seconds."""
    candidate: int
    baseline: int
    both: int
    pairs: int

    @classmethod
    def of(cls, pairs: Pairs, within: float) -> Missed | None:
        """Counts the pairs of some rounds; ``None`` where no side missed it."""
        each = [
            (theirs >= BEYOND, ours >= BEYOND) for one_round in pairs for theirs, ours in one_round
        ]
        found = cls(
            within=within,
            candidate=each.count((False, True)),
            baseline=each.count((True, False)),
            both=each.count((True, True)),
            pairs=len(each),
        )
        return found if found.candidate + found.baseline + found.both else None

    @property
    def text(self) -> str:
        """What is said in place of a ratio."""
        return not_within(self.within)

    @property
    def chance(self) -> float:
        """Of so many on the candidate's side, if a fair coin says on which: the sign test."""
        return chance_of_heads(self.candidate, self.candidate + self.baseline)


def not_within(seconds: float) -> str:
    """What is said in place of a figure that exceeds a time limit."""
    return f"{NOT_WITHIN} {seconds:g} s"


def both_missed(pairs: Pairs) -> bool:
    """Whether all rounds of a scenario, and enough of them, exceed the time limit on both sides."""
    scenarios = zip(*pairs, strict=True)
    has_enough = len(pairs) >= BOTH_AFTER
    return has_enough and any(
        all(min(pair) >= BEYOND for pair in of_scenario) for of_scenario in scenarios
    )


def tied(pairs: Pairs, margin: float, floor: float) -> Pairs:
    """The same, where a candidate that exceeds the time limit, too, costs just what is allowed."""
    return tuple(
        tuple(
            (theirs, theirs * (1 + margin) + floor if min(theirs, ours) >= BEYOND else ours)
            for theirs, ours in one_round
        )
        for one_round in pairs
    )

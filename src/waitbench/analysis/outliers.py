"""The values of some rounds -> those that are usual.

On a machine with two modes, where one run in ten takes three times as long, one pair in five has
such a run on one side, and of the rounds of two scenarios together one in three. A trimmed mean
that cuts a tenth at each end keeps most of these, and says little.

A value is an outlier here if it is further from the median of its scenario than three standard
deviations, as 1.4826 median absolute deviations estimate them (F. Hampel, "The breakdown points of
the mean combined with some rejection rules", Technometrics 27, 1985), and than a factor of 1.5.
Outliers are left out where they happen to both sides alike: where in each scenario there are about
as many above the median as below it, to within 15 % of the rounds. What is left does not depend on
how many fell on which side, so its bounds err as seldom as they may. Otherwise they count, and
nothing is called the same unless it is without them, too: a candidate whose runs are bad more often
is not excused by a rule for machines. Its tail is judged by itself: tail.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

FEWEST = 8
"""With fewer rounds, every value counts."""
_DEVIATIONS = 3.0
_LEAST = math.log(1.5)
_TO_STANDARD = 1.4826
_UNEVEN = 0.15
_FEWEST_USUAL = 2 / 3


@dataclass(frozen=True, kw_only=True)
class Usual:
    """Which values of each scenario are no outliers."""

    kept: tuple[tuple[bool, ...], ...]
    """Of each scenario, in order of rounds."""
    is_even: bool
    """Whether outliers happen to both sides alike."""

    @property
    def has_outliers(self) -> bool:
        """Whether there are any, and so few of each scenario that they are the exception."""
        if any(sum(column) < _FEWEST_USUAL * len(column) for column in self.kept):
            return False
        return not all(map(all, self.kept))


def usual(columns: Sequence[Sequence[float]]) -> Usual:
    """The usual ones of each scenario's logarithms of ratios, which are in order of rounds."""
    sides = [_sides(column) for column in columns]
    return Usual(
        kept=tuple(tuple(not side for side in column) for column in sides),
        is_even=all(abs(sum(column)) <= _UNEVEN * len(column) for column in sides),
    )


def unusual_beyond(column: Sequence[float]) -> float:
    """How far from their median outliers of some logarithms begin."""
    middle = median(column)
    spread = _TO_STANDARD * median(abs(value - middle) for value in column)
    return max(_LEAST, _DEVIATIONS * spread)


def _sides(column: Sequence[float]) -> list[int]:
    """Of each value: 1 for an outlier above the median, -1 for one below it, 0 for none."""
    if len(column) < FEWEST:
        return [0] * len(column)
    middle, far = median(column), unusual_beyond(column)
    return [(value > middle + far) - (value < middle - far) for value in column]

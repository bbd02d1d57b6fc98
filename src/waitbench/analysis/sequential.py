"""Bounds on a ratio that hold however often one looks, and whenever one stops.

Looking at an ordinary 95 % interval after each round, and stopping when it says what one waits for,
is wrong far more often than 5 % of the time. Here the error is spent in parts, decided beforehand
(K. Lan and D. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70, 1983):
there is a fixed list of looks, and each has a fixed share of the allowed error, whoever looks and
however many rounds they allow. By Bonferroni's inequality the chance that any look errs is at most
the sum of the shares, and nothing need be known of how the looks depend on each other. So one may
go on with a comparison that has ended, too. Two things can go wrong, and each has an error of its
own:

* An alarm without a cause. The lower bounds of all hypotheses share ``ALPHA``, so the chance that
  any of them, at any look, lies above the truth is at most ``ALPHA``: that is how often a
  comparison without any rise beyond its margin fails.
* A regression that is missed. The upper bounds of each hypothesis have ``ALPHA`` for themselves: a
  rise beyond the margin is called the same, or faster, with a chance of at most ``ALPHA``. However
  many hypotheses there are, a comparison with a real regression passes with all of them called the
  same at most that often, since the regressed one would have to be among them. That each of several
  regressions is recognised is less certain: one or another is missed with at most the sum.

Nothing is called slower before ``FIRST_ALARM`` rounds: Student's bounds trust the bell curve, and
three rounds of a machine with two modes may agree by chance (with 40 % of runs three times as dear,
16 to 22 % of comparisons without any change failed when alarms began with the third round).

A bound at one look is Yuen's for the trimmed mean (K. Yuen, "The two-sample trimmed t for unequal
population variances", Biometrika 61, 1974; Student's t as long as nothing is trimmed) on the
logarithms of the paired ratios. Trimming makes a single disturbed round count for little.
docs/statistics.md explains all this without formulas, and what other ways would save.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.analysis.distributions import t_quantile

ALPHA = 0.05
"""Allowed chance that a comparison without any regression fails at all.

Also, of each hypothesis by itself, that a real regression is called none.
"""

LOOKS = (
    3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40,
    50, 65, 80, 100, 125, 150, 200, 250, 300, 400, 500, 650, 800, 1000,
)  # fmt: skip
"""Numbers of rounds after which one looks.

Further apart as they grow: each look costs error, and adds little later.
"""

_EVENLY = 12
"""So many of the first looks have equal shares of the error; each later one has half of what is
left."""
_KEPT_FOR_LATER = 0.1

FEWEST_ROUNDS = LOOKS[0]

FIRST_ALARM = 6
"""Rounds from which on a candidate may be called slower."""

TAIL_PART = 0.4
"""The part of ``ALPHA`` for alarms that is kept for the tails: see tail.py."""

_POWER = 1.645
"""Standard errors that nineteen of twenty estimates do not fall short by."""
_GREATEST = math.log(1e9)
"""Bounds of three rounds can be astronomic; files and tables hold numbers up to here."""

_TRIM_FROM = 8
"""With fewer rounds, what trimming costs in degrees of freedom is more than what it saves."""
_TRIM_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Errors:
    """The chances that the truth lies beyond a bound."""

    alarm: float
    """Below the lower bound: a candidate is said to be slower for no reason."""
    clear: float
    """Above the upper bound: a candidate is said to be the same or faster, and is slower."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The centre of some logarithms of ratios, or of some rises, and one-sided bounds.

    The truth lies beyond each with at most the chance that it was asked for.
    """

    centre: float
    low: float
    """Minus infinity where no error is allowed."""
    high: float
    standard_error: float

    def half_width_after(self, rounds: int, of: int, error: float) -> float:
        """How far a bound is from the centre after ``of`` rounds, if noise stays as it is."""
        shrunk = self.standard_error * math.sqrt(rounds / of)
        return shrunk * t_quantile(1 - error, max(1, of - 2 * _cut(of) - 1))

    def findable(self, margin: float) -> float:
        """The smallest ratio whose lower bound would lie above a margin, with a chance of 95 %."""
        above = self.centre - self.low + _POWER * self.standard_error
        return ratio(math.log1p(margin) + above)


def ratio(log: float) -> float:
    """The ratio of this logarithm, if it is one that can be shown."""
    return math.exp(min(log, _GREATEST))


def looks_until(most_rounds: int) -> tuple[int, ...]:
    """The looks of a comparison of at most so many rounds; what follows the last is not seen."""
    return tuple(look for look in LOOKS if look <= most_rounds)


def share(look: int, first: int = FEWEST_ROUNDS) -> float:
    """The part of each error that is spent at a look; those of all looks add up to less than 1.

    Nothing is spent before the look ``first``. Raises ``ValueError`` if one does not look then.
    """
    if look not in LOOKS:
        raise ValueError(f"{look} is none of the looks {LOOKS}")
    if look < first:
        return 0.0
    later = LOOKS.index(look) - _EVENLY
    if later < 0:
        return (1 - _KEPT_FOR_LATER) / (_EVENLY - LOOKS.index(first))
    return _KEPT_FOR_LATER * 0.5 ** (later + 1)


def errors_at(look: int, hypotheses: int, first_alarm: int = FIRST_ALARM) -> Errors:
    """The errors that the bounds of one of so many hypotheses may have at one of the looks.

    Raises ``ValueError`` if one does not look then.
    """
    alarm = ALPHA * (1 - TAIL_PART) * share(look, first_alarm) / hypotheses
    return Errors(alarm=alarm, clear=ALPHA * share(look))


def bounds(values: Sequence[float], errors: Errors) -> Bounds:
    """Bounds from at least two values, such as logarithms of ratios; each side with its error."""
    ordered = sorted(values)
    count = len(ordered)
    cut = _cut(count)
    kept = ordered[cut : count - cut]
    centre = math.fsum(kept) / len(kept)
    # Winsorised: what was cut counts as the outermost that was kept.
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    middle = math.fsum(winsorised) / count
    squares = math.fsum((value - middle) ** 2 for value in winsorised)
    standard_error = math.sqrt(squares / (len(kept) * (len(kept) - 1)))
    return _bounds(centre, standard_error, len(kept) - 1, errors)


def _bounds(centre: float, standard_error: float, freedom: int, errors: Errors) -> Bounds:
    return Bounds(
        centre=centre,
        low=centre - standard_error * t_quantile(1 - errors.alarm, freedom)
        if errors.alarm
        else -math.inf,
        high=centre + standard_error * t_quantile(1 - errors.clear, freedom),
        standard_error=standard_error,
    )


def _cut(count: int) -> int:
    """How many of so many values are cut at each end."""
    return max(1, math.floor(_TRIM_SHARE * count)) if count >= _TRIM_FROM else 0

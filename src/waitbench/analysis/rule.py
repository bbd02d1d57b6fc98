"""The rule by which candidates are judged: exact tests on pairs, and the bounds of these tests.

A *pair* is what the baseline and the candidate cost in one round of one scenario; ``t`` is the
logarithm of the candidate's cost to what is allowed, ``baseline * (1 + margin) + floor``. A run is
*dear* if it costs more than ``DEAR`` times the median of both sides.

* *It fails* if the signed-rank test says that t lies above 0.
* *It fails, too,* at the last look, if it has certainly more dear runs: if one side of a pair is
  dear, a fair coin says which (I. McNemar, Psychometrika 12, 1947).
* *It is within its margin* if that test says that t lies below 0 where not one side alone is dear,
  and nothing keeps it open: dear runs that may be more frequent by ``RARE``, in one scenario by
  ``RARE_ANYWHERE``; dear runs that add more than ``DEAR_SHARE`` to a cost that can fail by them;
  plain means, or the centre of one scenario, above ``BEYOND``.
* *Else it is inconclusive.*

The latest look counts. Looks are fixed, and errors are divided over looks and questions
(Bonferroni), so that nothing need be known of how these depend on each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from waitbench.analysis.signed_rank import hodges_lehmann
from waitbench.model.estimate import Estimate
from waitbench.model.verdicts import Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Pairs = tuple[tuple[tuple[float, float], ...], ...]
"""Costs of each round, of each scenario: the baseline's and the candidate's."""

ALPHA = 0.05
"""The chance that a comparison without any regression fails at all.

Also, of each question by itself, that a real regression is called none.
"""
ALPHA_DEAR = 0.016
"""The part of ``ALPHA`` that is spent on dear runs, all of it at the last look."""
LOOKS = (4, 9, 18, 30)
"""Numbers of rounds after which one looks; docs/statistics.md says why these."""
ALARM = (ALPHA - ALPHA_DEAR) / len(LOOKS)
"""The chance that any question fails at one look by the signed-rank test, without a reason."""
CLEAR = ALPHA / len(LOOKS)
"""The chance of being called within its margin at one look in spite of a rise."""
DEAR = 2.0
"""A run is dear if it costs more than so many times the median of both sides of its scenario."""
RARE = 0.3
"""So much more frequent dear runs must not be missed."""
RARE_ANYWHERE = 0.5
"""The same in one of several scenarios, with a chance of ``ALPHA`` at one look; and where a large
rise is allowed, so that two scenarios can pass at the first look."""
DEAR_SHARE = 0.2
"""What passes has dear runs that add less than this share to the baseline's mean, where these can
fail. So one run of ten times the cost in 36 pairs keeps it open, and eighteen pairs without any are
seen in at most a tenth of cases if one run in eight is such."""
DEAR_SHARE_ANYWHERE = 0.5
"""The same in one of several scenarios."""
A_LARGE_RISE = 1.0
"""A margin from here on is about what breaks, not about what it costs now and then."""
BEYOND = 1.15
"""What passes costs no more than so many times what is allowed, by its means and anywhere."""


@dataclass(frozen=True, kw_only=True)
class Dear:
    """How often one side of a pair was dear, and the other was not."""

    candidate: int
    baseline: int
    pairs: int

    @classmethod
    def of(cls, sides: NDArray[np.int_]) -> Dear:
        """Counts pairs: 1 where the candidate's run alone is dear, -1 for the baseline's."""
        ours, theirs = int((sides > 0).sum()), int((sides < 0).sum())
        return cls(candidate=ours, baseline=theirs, pairs=sides.size)

    def chance_of_so_few(self, more: float) -> float:
        """The chance of so few, if the candidate's were so much more frequent.

        T. Tango's score test of a difference of paired rates (Statistics in Medicine 17, 1998).
        """
        n, ours, theirs = self.pairs, self.candidate, self.baseline
        # The likeliest rate of the baseline's, given the difference.
        linear = (2 * n - ours + theirs) * more - ours - theirs
        root = math.sqrt(linear**2 + 8 * n * theirs * more * (1 - more))
        rate = (root - linear) / (4 * n)
        deviation = math.sqrt(n * (2 * rate + more * (1 - more)))
        return NormalDist().cdf((ours - theirs - n * more) / deviation)


def chance_of_heads(heads: int, tosses: int) -> float:
    """The chance that a fair coin shows so many heads or more. Exact, and without scipy's start."""
    return sum(math.comb(tosses, count) for count in range(heads, tosses + 1)) / (1 << tosses)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What is known after some rounds.

    The ratio is to the baseline; with a floor, to what is allowed. It is ``None`` before the first
    look, and a bound where so few pairs allow none.
    """

    verdict: Verdict = Verdict.INCONCLUSIVE
    rounds: int = 0
    """Those of the look that it is of."""
    ratio: Estimate | None = None
    """With bounds that hold over all looks together; the lower one over all questions too."""
    means: float | None = None
    """The same ratio of the plain means, where that keeps it from being within its margin."""
    dear: Dear | None = None
    by_dear_runs: bool = False
    """Whether it fails by these."""
    apart: tuple[int, ...] = ()
    """Scenarios, by their place, whose own centre or dear runs are, which does so too."""


def latest_look(rounds: int) -> int:
    """The number of rounds that count of so many; 0 before the first look."""
    return max((look for look in LOOKS if look <= rounds), default=0)


@lru_cache(maxsize=1000)
def judge(
    pairs: Pairs,
    *,
    margin: float,
    floor: float = 0.0,
    least: float,
    alarm: float = ALARM,
    dear_alarm: float = 0.0,
    beyond: float = BEYOND,
) -> Finding:
    """Judges the rounds of one look; this is asked after each run, and answered once.

    It fails without a reason by a chance of ``alarm``, and of ``dear_alarm`` by dear runs. What is
    next to nothing counts as ``least``.
    """
    import numpy as np

    baseline, candidate = np.moveaxis(np.maximum(pairs, least), -1, 0)
    allowed = baseline * (1 + margin) + floor
    logs = np.log(candidate / allowed)
    # By the median of both sides, which stays if the sides of a pair are swapped: that of one side
    # alone is high where that has many dear runs, so that these would seldom count. A candidate
    # moves it by no more than the baseline's own runs differ.
    limit = DEAR * np.median(np.concatenate([allowed, candidate]), axis=0)
    sides = (candidate > limit).astype(int) - (allowed > limit)
    dear = Dear.of(sides)
    chance = chance_of_heads(dear.candidate, dear.candidate + dear.baseline)
    is_dear_worse = len(pairs) == LOOKS[-1] and chance <= dear_alarm
    found = hodges_lehmann(logs, alarm, CLEAR)
    # Dear runs have tests of their own. Whether one side is dear does not depend on which one is
    # the candidate's, so that the test of the others is exact, too.
    others = logs[sides == 0]
    if 0 < others.size < logs.size:
        most = hodges_lehmann(others, alarm, CLEAR).high
        if found.low <= most < 0:
            found = replace(found, centre=min(found.centre, most), high=most)
    means = float((candidate.mean(axis=0) / allowed.mean(axis=0)).mean())
    # To the baseline's own cost: what is allowed besides a share would hide rare late runs.
    added = np.where(sides, candidate - baseline, 0.0).sum(axis=0) / baseline.sum(axis=0)
    added *= dear_alarm > 0
    apart = [
        place
        for place, own in enumerate(logs.T)
        if hodges_lehmann(own, 0.0, 0.0).centre > math.log(beyond)
        or Dear.of(sides[:, place]).chance_of_so_few(RARE_ANYWHERE) > ALPHA
        or added[place] > DEAR_SHARE_ANYWHERE
    ]
    rare = RARE if margin < A_LARGE_RISE else RARE_ANYWHERE
    is_open = means > beyond or apart or dear.chance_of_so_few(rare) > CLEAR
    is_open = is_open or added.mean() > DEAR_SHARE
    verdict = Verdict.INCONCLUSIVE
    if found.low > 0 or is_dear_worse:
        verdict = Verdict.SLOWER
    elif found.high < 0 and not is_open:
        # As far as it may rise: bounds that hold for each question by itself lie below 1 by chance.
        has_fallen = not floor and found.high < -2 * math.log1p(margin)
        verdict = Verdict.FASTER if has_fallen else Verdict.WITHIN_MARGIN
    # To the baseline, without a floor.
    shown = 0.0 if floor else math.log1p(margin)
    low, high = (
        math.exp(end + shown) if math.isfinite(end) else None for end in (found.low, found.high)
    )
    return Finding(
        verdict=verdict,
        rounds=len(pairs),
        ratio=Estimate(math.exp(found.centre + shown), low, high, len(pairs)),
        means=means * math.exp(shown) if means > beyond else None,
        dear=dear,
        by_dear_runs=is_dear_worse and found.low <= 0,
        apart=tuple(apart),
    )

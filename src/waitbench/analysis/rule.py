"""The rule by which candidates are judged: exact tests on pairs, and the bounds of these tests.

A *pair* has the costs of the baseline and of the candidate in one round of one scenario. ``t`` is
the log ratio of the candidate's cost to the allowed cost, ``baseline * (1 + margin) + allowance``.
An *outlier* costs more than ``OUTLIER`` times the median of both sides.

* *A question fails* if the signed-rank test proves t above 0; or, at the last interim
  analysis, if the candidate certainly has more outliers: where one side of a pair is an outlier, a
  fair coin decides which one (I. McNemar, Psychometrika 12, 1947).
* *It is within its margin* if the signed-rank test, without pairs in which a single side is an
  outlier, proves t below 0, and nothing keeps it open: outliers that may be more frequent by
  ``RARE``, or in one scenario by ``RARE_ANYWHERE``; outliers that add more than ``OUTLIER_SHARE``
  to a cost that can fail by them; plain means, or the centre of one scenario, above ``MAX_EXCESS``.
* *Else it is inconclusive.*

The latest interim analysis counts. Their rounds are fixed, and errors are divided over analyses and
questions (Bonferroni), which needs no assumption about their dependence.
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
"""By round and scenario: the costs of the baseline and of the candidate."""

ALPHA = 0.05
"""The chance that a comparison without a regression fails.

Also the chance, for each question by itself, that a real regression passes.
"""
ALPHA_OUTLIERS = 0.016
"""The part of ``ALPHA`` for the test of outliers, spent at the last analysis."""
INTERIM_LOOKS = (4, 9, 18, 30)
"""Numbers of rounds before each interim analysis; docs/statistics.md gives the reasons."""
ALPHA_FAIL = (ALPHA - ALPHA_OUTLIERS) / len(INTERIM_LOOKS)
"""The chance that any question fails at one analysis by the signed-rank test without a rise."""
ALPHA_PASS = ALPHA / len(INTERIM_LOOKS)
"""The chance of passing at one analysis in spite of a rise."""
OUTLIER = 2.0
RARE = 0.3
"""An increase in the frequency of outliers that must not be missed."""
RARE_ANYWHERE = 0.5
"""The same in one of several scenarios, with a chance of ``ALPHA`` at one analysis; and where a
large rise is allowed, so that two scenarios can pass at the first analysis."""
OUTLIER_SHARE = 0.2
"""To pass, outliers must add less than this share to the baseline's mean, where they can fail. So
a single run of ten times the cost in 36 pairs keeps a question open, and if one run in eight is
such, the chance of eighteen pairs without any is at most a tenth."""
OUTLIER_SHARE_ANYWHERE = 0.5
"""The same in one of several scenarios."""
A_LARGE_RISE = 1.0
"""Margins from here on are for defects that occur in every run, not for rare outliers."""
MAX_EXCESS = 1.15
"""The most that passes, as a factor of the allowed cost, of plain means and in each scenario."""


@dataclass(frozen=True, kw_only=True)
class OutlierCounts:
    """The numbers of pairs in which a single side was an outlier."""

    candidate: int
    baseline: int
    pairs: int

    @classmethod
    def count(cls, sides: NDArray[np.int_]) -> OutlierCounts:
        """Counts pairs: 1 where only the candidate's run is an outlier, -1 for the baseline's."""
        candidate, baseline = int((sides > 0).sum()), int((sides < 0).sum())
        return cls(candidate=candidate, baseline=baseline, pairs=sides.size)

    def chance_of_so_few(self, more: float) -> float:
        """The chance of so few, if the candidate's were more frequent by ``more``.

        T. Tango's score test of a difference of paired rates (Statistics in Medicine 17, 1998).
        """
        n, candidate, baseline = self.pairs, self.candidate, self.baseline
        # The likeliest rate of the baseline, given the difference.
        linear = (2 * n - candidate + baseline) * more - candidate - baseline
        root = math.sqrt(linear**2 + 8 * n * baseline * more * (1 - more))
        rate = (root - linear) / (4 * n)
        deviation = math.sqrt(n * (2 * rate + more * (1 - more)))
        return NormalDist().cdf((candidate - baseline - n * more) / deviation)


def chance_of_heads(heads: int, tosses: int) -> float:
    """The chance that a fair coin shows so many heads or more. Exact, and without scipy's start."""
    return sum(math.comb(tosses, count) for count in range(heads, tosses + 1)) / (1 << tosses)


@dataclass(frozen=True, kw_only=True)
class RuleResult:
    """The verdict on the rounds of an interim analysis, and the figures behind it."""

    verdict: Verdict | None = None
    rounds: int = 0
    ratio: Estimate | None = None
    """To the baseline; with an allowance, to the allowed cost. ``None`` before the first analysis.

    The bounds hold over all analyses together, the lower one over all questions, too."""
    means: float | None = None
    """The ratio of the plain means, if that keeps the question open."""
    outliers: OutlierCounts | None = None
    by_outliers: bool = False
    apart: tuple[int, ...] = ()
    """Indices of the scenarios that keep it open by their own centre or outliers."""


def latest_analysis(rounds: int) -> int:
    """The number of rounds of the latest interim analysis; 0 before the first."""
    return max((count for count in INTERIM_LOOKS if count <= rounds), default=0)


def fewest_rounds(scenarios: int) -> int:
    """The rounds of the first analysis at which so many scenarios together can pass."""
    return next(count for count in INTERIM_LOOKS if 2.0 ** -(count * scenarios) <= ALPHA_PASS)


@lru_cache(maxsize=1000)
def judge(
    pairs: Pairs,
    *,
    margin: float,
    allowance: float = 0.0,
    least: float,
    alpha: float = ALPHA_FAIL,
    outlier_alpha: float = 0.0,
    max_excess: float = MAX_EXCESS,
) -> RuleResult:
    """Judges the rounds of one analysis; cached, as it is called after each run.

    ``alpha`` and ``outlier_alpha`` are the chances of failing without a rise, by the signed-rank
    test and by outliers. Costs below ``least`` count as ``least``.
    """
    import numpy as np

    baseline, candidate = np.moveaxis(np.maximum(pairs, least), -1, 0)
    allowed = baseline * (1 + margin) + allowance
    logs = np.log(candidate / allowed)
    # The median of both sides is the same if the sides of a pair are swapped. That of one side
    # alone rises with its outliers, so that few would count. A candidate moves it by no more than
    # the baseline's own runs differ.
    limit = OUTLIER * np.median(np.concatenate([allowed, candidate]), axis=0)
    sides = (candidate > limit).astype(int) - (allowed > limit)
    outliers = OutlierCounts.count(sides)
    chance = chance_of_heads(outliers.candidate, outliers.candidate + outliers.baseline)
    has_more_outliers = len(pairs) == INTERIM_LOOKS[-1] and chance <= outlier_alpha
    interval = hodges_lehmann(logs, alpha, ALPHA_PASS)
    # Outliers have tests of their own. Whether a single side is an outlier does not depend on which
    # side is the candidate, so that the test of the other pairs is exact, too.
    others = logs[sides == 0]
    if 0 < others.size < logs.size:
        bound = hodges_lehmann(others, alpha, ALPHA_PASS).high
        if interval.low <= bound < 0:
            interval = replace(interval, centre=min(interval.centre, bound), high=bound)
    means = float((candidate.mean(axis=0) / allowed.mean(axis=0)).mean())
    # Relative to the baseline's own cost: an allowance would hide rare late runs.
    added = np.where(sides, candidate - baseline, 0.0).sum(axis=0) / baseline.sum(axis=0)
    added *= outlier_alpha > 0
    apart = [
        index
        for index, scenario in enumerate(logs.T)
        if hodges_lehmann(scenario, 0.0, 0.0).centre > math.log(max_excess)
        or OutlierCounts.count(sides[:, index]).chance_of_so_few(RARE_ANYWHERE) > ALPHA
        or added[index] > OUTLIER_SHARE_ANYWHERE
    ]
    rare = RARE if margin < A_LARGE_RISE else RARE_ANYWHERE
    is_open = means > max_excess or apart or outliers.chance_of_so_few(rare) > ALPHA_PASS
    is_open = is_open or added.mean() > OUTLIER_SHARE
    verdict = Verdict.INCONCLUSIVE
    if interval.low > 0 or has_more_outliers:
        verdict = Verdict.SLOWER
    elif interval.high < 0 and not is_open:
        # By as much as it may rise: a bound with the error of a single question lies below 1 by
        # chance in some of many.
        has_fallen = not allowance and interval.high < -2 * math.log1p(margin)
        verdict = Verdict.FASTER if has_fallen else Verdict.WITHIN_MARGIN
    # Without an allowance, figures are relative to the baseline.
    shift = 0.0 if allowance else math.log1p(margin)
    low, high = (
        math.exp(log + shift) if math.isfinite(log) else None
        for log in (interval.low, interval.high)
    )
    return RuleResult(
        verdict=verdict,
        rounds=len(pairs),
        ratio=Estimate(math.exp(interval.centre + shift), low, high, len(pairs)),
        means=means * math.exp(shift) if means > max_excess else None,
        outliers=outliers,
        by_outliers=has_more_outliers and interval.low <= 0,
        apart=tuple(apart),
    )

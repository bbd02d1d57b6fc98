"""The rule by which candidates are judged: exact tests on pairs, and the bounds of these tests.

A *pair* has the costs of the baseline and of the candidate in one round of one scenario. ``t`` is
the log ratio of the candidate's cost to the allowed cost, ``baseline * (1 + margin) + allowance``.
An *outlier* costs more than ``Rule.outlier`` times the median of both sides.

* *A question fails* if the signed-rank test proves t above 0; or, at the last interim
  analysis, if the candidate certainly has more outliers: where one side of a pair is an outlier, a
  fair coin decides which one (I. McNemar, Psychometrika 12, 1947).
* *It is within its margin* if the signed-rank test, without pairs in which a single side is an
  outlier, proves t below 0, and nothing keeps the question open: outliers that may be more frequent
  by ``rise_of_outliers``, or in one scenario by ``rise_of_outliers_anywhere``; outliers that add
  more than ``added_by_outliers``, if the question is also tested for outliers; plain means, or the
  centre of one scenario, above ``most_excess``.
* *Else it is inconclusive.*

The latest interim analysis decides. The rounds of analyses are fixed, and errors are divided over
analyses and questions (Bonferroni), which needs no assumption about their dependence.

A *limit* is judged by *shares*, the cost of a run divided by its limit:

* *It fails* if the signed-rank test proves the logarithms of the shares above 0.
* *It holds* if that test proves the shares themselves below 1, and nothing keeps it open: a plain
  mean above 1, or outliers, of more than twice the limit, that may be frequent.
* *Else it is inconclusive.*

If shares are skewed, outliers are the cause, and then both tests err on the safe side. A share of
0 gets a small value in place of its logarithm, for its rank.

A *censored* cost exceeded a time limit. It ranks above all others; two of them are a tie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct

from waitbench.model.metrics import BEYOND
from waitbench.model.verdicts import Estimate, Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Pairs = tuple[tuple[tuple[float, float], ...], ...]
"""By round and scenario: the costs of the baseline and of the candidate."""

ALPHA = 0.05
NOT_WITHIN = "not within"
GIVEN_UP_AFTER = 3
"""Rounds, all missed by both sides, after which a scenario is given up."""
_DIGITS = 12
"""Digits of logarithms, so that values that differ by rounding are ties."""
_NOTHING = 1e-9
"""Replaces a share of 0, which has no logarithm."""


class Rule(Struct, frozen=True, kw_only=True):
    """The errors and thresholds of the rule, which a gate stores with its result."""

    alpha: float = ALPHA
    """The chance that a comparison without a regression fails.

    Also the chance, for each question by itself, that a real regression passes."""
    alpha_outliers: float = 0.016
    """The part of ``alpha`` for the test of outliers, spent at the last analysis."""
    first_question: float = 0.6
    """The share of the error that the first question has; all others divide the rest.

    So eight pairs that agree, from four rounds of two scenarios, can answer that question."""
    first_of_outliers: float = 0.5
    """The share of ``alpha_outliers`` that the first question about a cost has."""
    analyses: tuple[int, ...] = (4, 9, 12, 18, 30)
    """Numbers of rounds before each interim analysis; docs/statistics.md gives the reasons."""
    outlier: float = 2.0
    rise_of_outliers: float = 0.3
    """An increase in the frequency of outliers that must not be missed."""
    rise_of_outliers_anywhere: float = 0.5
    """The same for one of several scenarios, with the error ``alpha`` at each analysis.

    From a margin of ``large_rise`` on, it is also the threshold for all scenarios together, so that
    two scenarios can pass at the first analysis."""
    added_by_outliers: float = 0.2
    """To pass a question that is tested for outliers, they must add less to the baseline's mean.

    So a single run of ten times the cost in 36 pairs keeps a question open. If one run in eight is
    so costly, eighteen pairs lack such a run with a chance of at most a tenth."""
    added_by_outliers_anywhere: float = 0.5
    """The same in one of several scenarios."""
    large_rise: float = 1.0
    """Margins of at least this are for defects that occur in every run, not for rare outliers."""
    most_excess: float = 1.15
    """To pass, plain means and each scenario must not exceed the allowed cost by this factor."""
    offsetting_fall: float = 0.1
    """The certain fall of a cost, as a share, that explains a rise of its components."""

    @property
    def alpha_fail(self) -> float:
        """The chance that any question fails at one analysis by the signed-rank test."""
        return (self.alpha - self.alpha_outliers) / len(self.analyses)

    @property
    def alpha_pass(self) -> float:
        """The chance of passing at one analysis in spite of a rise."""
        return self.alpha / len(self.analyses)

    def latest_analysis(self, rounds: int) -> int:
        """The number of rounds of the latest interim analysis; 0 before the first."""
        return max((count for count in self.analyses if count <= rounds), default=0)

    def deciding_analyses(self, scenarios: int) -> tuple[int, ...]:
        """The analyses, in rounds, at which this number of scenarios together can pass."""
        return tuple(it for it in self.analyses if 2.0 ** -(it * scenarios) <= self.alpha_pass)


RULE = Rule()


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A location and its one-sided bounds, which are infinite for too few values."""

    centre: float
    low: float
    high: float

    def verdict(self, *, is_open: bool) -> Verdict:
        """The verdict on a logarithm: certainly above 0, or below 0 if nothing keeps it open."""
        if self.low > 0:
            return Verdict.SLOWER
        return Verdict.WITHIN_MARGIN if self.high < 0 and not is_open else Verdict.INCONCLUSIVE

    def ratio(self, count: int, shift: float = 0.0) -> Estimate:
        """The ratio with this logarithm, after a shift."""
        low, high = math.exp(self.low + shift), math.exp(self.high + shift)
        bounds = low or None, high if math.isfinite(high) else None
        return Estimate(math.exp(self.centre + shift), *bounds, count)


def signed_rank_interval(values: Floats, error_low: float, error_high: float) -> Interval:
    """The median of all means of two values, with bounds that invert the signed-rank test.

    The test is F. Wilcoxon's ("Individual comparisons by ranking methods", Biometrics Bulletin 1,
    1945), the inversion J. Hodges' and E. Lehmann's ("Estimates of location based on rank tests",
    Annals of Mathematical Statistics 34, 1963), so that bounds and test agree.

    For values that are symmetric about the truth, it lies below ``low`` with a chance of at most
    ``error_low``, above ``high`` of ``error_high``. Takes at least one value, in any shape.
    """
    import numpy as np

    values = np.ravel(values).astype(float)
    first, second = np.triu_indices(values.size)
    means = np.sort(np.round((values[first] + values[second]) / 2, _DIGITS))
    below, above = (_beyond(values.size, error) for error in (error_low, error_high))
    return Interval(
        centre=float(np.median(means)),
        low=float(means[below - 1]) if below else -math.inf,
        high=float(means[-above]) if above else math.inf,
    )


@lru_cache(maxsize=1000)
def _beyond(count: int, error: float) -> int:
    """The number of means of two values beyond a bound with this error.

    The number of means above a location is the sum of the ranks of the values above it (J. Tukey).
    At the true location, a fair coin puts each rank above or below; ties change no mean.
    """
    import numpy as np

    chances = np.ones(1)
    for rank in range(1, count + 1):
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return int(np.searchsorted(np.cumsum(chances), error, side="right"))


@dataclass(frozen=True, kw_only=True)
class PairCounts:
    """The number of pairs, and of those in which only one side is an outlier, or missed a limit."""

    candidate: int
    baseline: int
    pairs: int

    @classmethod
    def of_outliers(cls, sides: NDArray[np.int_]) -> PairCounts:
        """Counts pairs: 1 where only the candidate's run is an outlier, -1 for the baseline's."""
        candidate, baseline = int((sides > 0).sum()), int((sides < 0).sum())
        return cls(candidate=candidate, baseline=baseline, pairs=sides.size)

    @property
    def chance_of_so_many(self) -> float:
        """The chance that a fair coin gives the candidate so many. Exact; needs no scipy."""
        tosses = self.candidate + self.baseline
        heads = (math.comb(tosses, count) for count in range(self.candidate, tosses + 1))
        return sum(heads) / (1 << tosses)

    def chance_of_so_few(self, rise: float) -> float:
        """The chance of so few events, if the candidate's were more frequent by ``rise``.

        T. Tango's score test of a difference of paired rates (Statistics in Medicine 17, 1998).
        """
        n, candidate, baseline = self.pairs, self.candidate, self.baseline
        # The likeliest rate of the baseline, given the difference.
        linear = (2 * n - candidate + baseline) * rise - candidate - baseline
        root = math.sqrt(linear**2 + 8 * n * baseline * rise * (1 - rise))
        rate = (root - linear) / (4 * n)
        deviation = math.sqrt(n * (2 * rate + rise * (1 - rise)))
        return NormalDist().cdf((candidate - baseline - n * rise) / deviation)


@dataclass(frozen=True, kw_only=True)
class RuleResult:
    """The verdict on the rounds of an interim analysis, and the figures behind it."""

    verdict: Verdict | None = None
    rounds: int = 0
    ratio: Estimate | None = None
    """To the baseline; with an allowance, to the allowed cost. ``None`` before the first analysis.

    Both bounds hold over all analyses, the lower bound over all questions as well."""
    means: float | None = None
    """The ratio of the plain means, if that keeps the question open."""
    outliers: PairCounts | None = None
    by_outliers: bool = False
    apart: tuple[int, ...] = ()
    """Indices of the scenarios whose estimate or outliers keep the question open."""


@dataclass(frozen=True, kw_only=True)
class Missed(PairCounts):
    """The numbers of pairs with one or both sides over a time limit of ``within`` seconds."""

    within: float
    both: int

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


def not_within(seconds: float) -> str:
    """Stands in place of a figure that exceeds a time limit."""
    return f"{NOT_WITHIN} {seconds:g} s"


def both_missed(pairs: Pairs) -> bool:
    """Whether both sides missed the limit in all rounds of a scenario, at least three."""
    return len(pairs) >= GIVEN_UP_AFTER and any(
        all(min(pair) >= BEYOND for pair in scenario) for scenario in zip(*pairs, strict=True)
    )


def tied(pairs: Pairs, margin: float, allowance: float) -> Pairs:
    """Sets the candidate's cost to the allowed cost in pairs of which both sides missed a limit."""
    return tuple(
        tuple(
            (before, before * (1 + margin) + allowance if min(before, after) >= BEYOND else after)
            for before, after in scenarios
        )
        for scenarios in pairs
    )


@lru_cache(maxsize=1000)
def judge_pairs(
    pairs: Pairs,
    rule: Rule = RULE,
    *,
    margin: float,
    allowance: float = 0.0,
    least: float,
    alpha: float | None = None,
    alpha_outliers: float = 0.0,
    most_excess: float | None = None,
) -> RuleResult:
    """Judges the rounds of one analysis; cached, as it is called after each run.

    ``alpha`` and ``alpha_outliers`` are the chances of failing without a rise, by the signed-rank
    test and by outliers. Costs below ``least`` count as ``least``.
    """
    import numpy as np

    alpha = rule.alpha_fail if alpha is None else alpha
    most_excess = rule.most_excess if most_excess is None else most_excess
    baseline, candidate = np.moveaxis(np.maximum(pairs, least), -1, 0)
    allowed = baseline * (1 + margin) + allowance
    logs = np.log(candidate / allowed)
    # The median of both sides is the same if the sides of a pair are swapped. The median of one
    # side rises with its outliers, and would hide them. A candidate moves the median of both sides
    # by no more than the baseline's own runs differ.
    limit = rule.outlier * np.median(np.concatenate([allowed, candidate]), axis=0)
    sides = (candidate > limit).astype(int) - (allowed > limit)
    outliers = PairCounts.of_outliers(sides)
    is_last = len(pairs) == rule.analyses[-1]
    has_more_outliers = is_last and outliers.chance_of_so_many <= alpha_outliers
    interval = signed_rank_interval(logs, alpha, rule.alpha_pass)
    # Outliers have tests of their own. Whether a single side is an outlier does not depend on which
    # side is the candidate, so that the test of the other pairs is exact, too.
    others = logs[sides == 0]
    if 0 < others.size < logs.size:
        bound = signed_rank_interval(others, alpha, rule.alpha_pass).high
        if interval.low <= bound < 0:
            interval = replace(interval, centre=min(interval.centre, bound), high=bound)
    means = float((candidate.mean(axis=0) / allowed.mean(axis=0)).mean())
    # Relative to the baseline's own cost, as an allowance would hide rare late runs. If only the
    # baseline's side is an outlier, the pair adds nothing, even if the candidate costs more, as it
    # may below a large margin.
    rises = np.minimum(candidate - baseline, np.where(sides < 0, 0.0, np.inf))
    added = np.where(sides, rises, 0.0).sum(axis=0) / baseline.sum(axis=0)
    added *= alpha_outliers > 0
    is_rare = margin < rule.large_rise
    rise = rule.rise_of_outliers if is_rare else rule.rise_of_outliers_anywhere
    apart = tuple(
        index
        for index, scenario in enumerate(logs.T)
        if signed_rank_interval(scenario, 0.0, 0.0).centre > math.log(most_excess)
        or PairCounts.of_outliers(sides[:, index]).chance_of_so_few(rule.rise_of_outliers_anywhere)
        > rule.alpha
        or added[index] > rule.added_by_outliers_anywhere
    )
    is_open = (
        means > most_excess
        or bool(apart)
        or outliers.chance_of_so_few(rise) > rule.alpha_pass
        or bool(added.mean() > rule.added_by_outliers)
    )
    verdict = Verdict.SLOWER if has_more_outliers else interval.verdict(is_open=is_open)
    # A smaller fall than the margin is not reported, as of many questions some have bounds below 1
    # by chance.
    has_fallen = not allowance and interval.high < -2 * math.log1p(margin)
    if verdict is Verdict.WITHIN_MARGIN and has_fallen:
        verdict = Verdict.FASTER
    # Without an allowance, figures are relative to the baseline.
    shift = 0.0 if allowance else math.log1p(margin)
    return RuleResult(
        verdict=verdict,
        rounds=len(pairs),
        ratio=interval.ratio(len(pairs), shift),
        means=means * math.exp(shift) if means > most_excess else None,
        outliers=outliers,
        by_outliers=has_more_outliers and interval.low <= 0,
        apart=apart,
    )


@lru_cache(maxsize=1000)
def judge_limit(pairs: Pairs, rule: Rule = RULE, *, alpha: float) -> RuleResult:
    """Judges ``(limit, value)`` at one analysis; ``alpha`` is the chance of a false failure."""
    import numpy as np

    limits, values = np.moveaxis(np.array(pairs), -1, 0)
    shares = np.ravel(values / limits)
    logs = signed_rank_interval(np.log(np.maximum(shares, _NOTHING)), alpha, rule.alpha_pass)
    interval, means = signed_rank_interval(shares, alpha, rule.alpha_pass), float(shares.mean())
    outliers = PairCounts.of_outliers((shares > rule.outlier).astype(int))
    is_open = means > 1 or outliers.chance_of_so_few(rule.rise_of_outliers) > rule.alpha_pass
    low, high = math.exp(logs.low), interval.high
    return RuleResult(
        verdict=replace(logs, high=high - 1).verdict(is_open=is_open),
        rounds=len(pairs),
        ratio=Estimate(
            interval.centre, low or None, high if math.isfinite(high) else None, len(pairs)
        ),
        means=means if means > 1 else None,
        outliers=outliers,
    )

"""The rule that judges candidates: exact tests on pairs of costs, and the bounds of these tests.

A *pair* has two sides, in one round of one scenario: the allowed cost, which is
``baseline * (1 + margin) + allowance``, and the candidate's cost. Its *log excess* is the logarithm
of the candidate's cost divided by the allowed cost. A side is an *outlier* if it is more than
``Rule.outlier`` times the median of both sides. A pair is *discordant* if one side is an outlier.

* *Slower*: the signed-rank test shows that the log excess is above 0. Or, at the last interim
  analysis, more discordant pairs have the candidate's outlier than chance explains.
* *Within margin*: the signed-rank test of all pairs, or of those that are not discordant, shows
  that the log excess is below 0; and outliers are not more frequent, nor add much to the mean; and
  neither the means nor the estimate of a single scenario are much above what is allowed.
* *Inconclusive*: all else.

The latest interim analysis decides. The rounds of analyses are fixed, and errors are divided over
analyses and questions (Bonferroni), which needs no assumption about their dependence.

With a *limit*, there is no baseline. A *share* is the cost of a run divided by its limit.

* *Slower*: the signed-rank test shows that the logarithms of the shares are above 0.
* *Within margin*: the signed-rank test shows that the shares are below 1; and so is their mean; and
  outliers, which are shares above ``Rule.outlier``, are certainly rare.
* *Inconclusive*: all else.

A cost is *censored* if the run exceeded a time limit, so that the cost is only known to be higher.
It has the highest rank; a pair of two censored costs is a tie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct

from waitbench.model.metrics import CENSORED
from waitbench.model.verdicts import Estimate, Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Sides = NDArray[np.int_]
    """For each pair: 1 if only the candidate's run is an outlier, -1 if only the baseline's is."""

Pairs = tuple[tuple[tuple[float, ...], ...], ...]
"""By round and scenario: the costs of the baseline and of the candidate."""

ALPHA = 0.05
NOT_WITHIN = "not within"
_DIGITS = 12
"""Digits of logarithms, so that values that differ by rounding are ties."""
_LEAST_SHARE = 1e-9
"""Replaces smaller shares, as 0 has no logarithm."""


class Rule(Struct, frozen=True, kw_only=True):
    """The errors and thresholds of the rule, which a gate stores with its result."""

    alpha: float = ALPHA
    """The chance that a comparison without a regression fails.

    Also the chance, for each question, that a rise beyond the margin passes."""
    alpha_outliers: float = 0.016
    """The part of ``alpha`` for the test of outliers, which takes place at the last analysis."""
    first_question: float = 0.6
    """The share of the remaining ``alpha`` for the first question; the others divide the rest.

    With this share, eight pairs that agree, from four rounds of two scenarios, can fail it."""
    first_of_outliers: float = 0.5
    """The share of ``alpha_outliers`` for the first question that is tested for outliers."""
    analyses: tuple[int, ...] = (4, 9, 12, 18, 30)
    """Numbers of rounds before each interim analysis; docs/statistics.md gives the reasons."""
    outlier: float = 2.0
    """A run is an outlier above this multiple of the median of both sides."""
    rise_of_outliers: float = 0.3
    """A candidate passes only if its share of outliers has certainly risen by less than this."""
    rise_of_outliers_anywhere: float = 0.5
    """The same within each scenario, with the error ``alpha`` at each analysis.

    If the margin is at least ``large_rise``, also for all scenarios together, so that two scenarios
    can pass at the first analysis."""
    added_by_outliers: float = 0.2
    """A candidate passes only if its outliers add at most this share to the baseline's mean.

    Applies to questions that are tested for outliers: one run of ten times the cost, in 36 pairs,
    keeps them open. If one run in eight costs that much, it is missing from eighteen pairs with a
    chance of at most a tenth."""
    added_by_outliers_anywhere: float = 0.5
    """The same within each scenario."""
    large_rise: float = 1.0
    """Margins of at least this are for defects that occur in every run, not for rare outliers."""
    most_excess: float = 1.15
    """A candidate passes only if neither the mean ratio nor a scenario's estimate exceeds this."""
    offsetting_fall: float = 0.1
    """The certain fall of a cost, as a share, that explains a rise of its components."""

    @property
    def alpha_fail(self) -> float:
        """The error of the signed-rank tests for a rise, of all questions, at one analysis."""
        return (self.alpha - self.alpha_outliers) / len(self.analyses)

    @property
    def alpha_pass(self) -> float:
        """The error of the tests for a pass, of each question, at one analysis."""
        return self.alpha / len(self.analyses)

    def latest_analysis(self, rounds: int) -> int:
        """The number of rounds of the latest interim analysis; 0 before the first."""
        return max((count for count in self.analyses if count <= rounds), default=0)

    def failing_analyses(self, scenarios: int, alpha: float) -> tuple[int, ...]:
        """The analyses, in rounds, at which a question about so many scenarios can fail.

        The least p-value of the signed-rank test is 0.5 to the power of the number of pairs.
        """
        return tuple(it for it in self.analyses if 2.0 ** -(it * scenarios) <= alpha)

    def passing_analyses(self, scenarios: int, margin: float) -> tuple[int, ...]:
        """The analyses, in rounds, at which a question can pass if there are no outliers."""
        rise = self.most_rise_of_outliers(margin)
        return tuple(
            it
            for it in self.failing_analyses(scenarios, self.alpha_pass)
            if DiscordantPairs(candidate=0, baseline=0, pairs=it * scenarios).p_value_below(rise)
            <= self.alpha_pass
        )

    def most_rise_of_outliers(self, margin: float) -> float:
        """The rise of the share of outliers that keeps a question with a margin open."""
        is_large = margin >= self.large_rise
        return self.rise_of_outliers_anywhere if is_large else self.rise_of_outliers


RULE = Rule()


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate and its one-sided bounds, which are infinite for too few values."""

    centre: float
    low: float
    high: float

    def verdict(self, *, is_open: bool = False) -> Verdict:
        """Slower if the bounds are above 0; within margin if they are below, unless ``is_open``."""
        if self.low > 0:
            return Verdict.SLOWER
        return Verdict.WITHIN_MARGIN if self.high < 0 and not is_open else Verdict.INCONCLUSIVE

    def ratio(self, count: int, shift: float = 0.0) -> Estimate:
        """Turns an interval of logarithms, plus ``shift``, into a ratio of ``count`` values."""
        low, high = math.exp(self.low + shift), math.exp(self.high + shift)
        bounds = low or None, high if math.isfinite(high) else None
        return Estimate(math.exp(self.centre + shift), *bounds, count)


def signed_rank_interval(values: Floats, error_low: float, error_high: float) -> Interval:
    """The Hodges-Lehmann estimate of the values' centre, with the bounds of the signed-rank test.

    The estimate is the median of the Walsh averages: the means of any two values, or of a value
    with itself. If values are symmetric about the true centre, this lies below ``low`` with a
    chance of at most ``error_low``, and above ``high`` with a chance of at most ``error_high``.
    ``values`` has any shape, and at least one value.

    F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.
    J. Hodges, E. Lehmann, "Estimates of location based on rank tests", Annals of Mathematical
    Statistics 34, 1963.
    """
    import numpy as np

    values = np.ravel(values).astype(float)
    first, second = np.triu_indices(values.size)
    averages = np.sort(np.round((values[first] + values[second]) / 2, _DIGITS))
    below, above = (_averages_beyond(values.size, error) for error in (error_low, error_high))
    return Interval(
        centre=float(np.median(averages)),
        low=float(averages[below - 1]) if below else -math.inf,
        high=float(averages[-above]) if above else math.inf,
    )


@lru_cache(maxsize=1000)
def _averages_beyond(count: int, error: float) -> int:
    """The number of Walsh averages of ``count`` values that lie beyond a bound with this error.

    The number of averages above the true centre is the sum of the ranks of the values above it
    (J. Tukey). Each rank is part of that sum with a chance of a half.
    """
    import numpy as np

    chances = np.ones(1)
    for rank in range(1, count + 1):
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return int(np.searchsorted(np.cumsum(chances), error, side="right"))


@dataclass(frozen=True, kw_only=True)
class DiscordantPairs:
    """The numbers of pairs in which only one run is an outlier, or exceeds a time limit."""

    candidate: int
    baseline: int
    pairs: int
    """The number of all pairs."""

    @classmethod
    def count(cls, sides: Sides) -> DiscordantPairs:
        """Counts the pairs of ``sides``, which has any shape."""
        candidate, baseline = int((sides > 0).sum()), int((sides < 0).sum())
        return cls(candidate=candidate, baseline=baseline, pairs=sides.size)

    @property
    def p_value_of_rise(self) -> float:
        """The p-value of the exact sign test for more outliers in the candidate's runs.

        If nothing changed, both sides of a discordant pair are equally likely to be the outlier
        (I. McNemar, Psychometrika 12, 1947).
        """
        tosses = self.candidate + self.baseline
        heads = (math.comb(tosses, count) for count in range(self.candidate, tosses + 1))
        return sum(heads) / (1 << tosses)

    def p_value_below(self, rise: float) -> float:
        """The p-value of a score test for a share of outliers that rose by less than ``rise``.

        T. Tango, Statistics in Medicine 17, 1998: the test of a difference of paired rates.
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
    mean_ratio: float | None = None
    """The ratio of the means, if it is so high that the question stays open."""
    outliers: DiscordantPairs | None = None
    by_outliers: bool = False
    """Whether a failure is due to outliers alone."""
    costly_scenarios: tuple[int, ...] = ()
    """Indices of the scenarios whose estimate or outliers keep the question open."""


@dataclass(frozen=True, kw_only=True)
class MissedLimits(DiscordantPairs):
    """The numbers of pairs in which one run, or both, exceeded a time limit."""

    within: float
    """The time limit in seconds."""
    both: int

    @classmethod
    def in_pairs(cls, pairs: Pairs, within: float) -> MissedLimits | None:
        """Counts the pairs; ``None`` if no run exceeded the limit."""
        sides = [tuple(cost >= CENSORED for cost in pair) for row in pairs for pair in row]
        candidate, baseline, both = map(sides.count, ((False, True), (True, False), (True, True)))
        if not candidate + baseline + both:
            return None
        return cls(
            within=within, candidate=candidate, baseline=baseline, both=both, pairs=len(sides)
        )


def not_within(seconds: float) -> str:
    """The text that tables show in place of a value that exceeds a time limit."""
    return f"{NOT_WITHIN} {seconds:g} s"


def is_always_missed(pairs: Pairs) -> bool:
    """Whether both sides exceeded a time limit in each of at least three rounds of a scenario."""
    return len(pairs) >= 3 and any(
        all(min(pair) >= CENSORED for pair in scenario) for scenario in zip(*pairs, strict=True)
    )


@lru_cache(maxsize=1000)
def judge_pairs(
    pairs: Pairs,
    rule: Rule = RULE,
    *,
    margin: float,
    allowance: float = 0.0,
    least: float,
    alpha: float,
    alpha_outliers: float = 0.0,
) -> RuleResult:
    """Judges the rounds of one analysis. Cached, because it is called after each run.

    ``alpha`` and ``alpha_outliers`` are the errors of failing by the signed-rank test and by
    outliers; with 0, outliers cannot fail. Costs below ``least`` count as ``least``.
    """
    import numpy as np

    # The arrays have the shape (rounds, scenarios).
    baseline, candidate = np.moveaxis(np.maximum(pairs, least), -1, 0)
    allowed = baseline * (1 + margin) + allowance
    # Two censored costs are a tie.
    candidate = np.where(np.minimum(baseline, candidate) >= CENSORED, allowed, candidate)
    log_excess = np.log(candidate / allowed)
    # Swapping the sides of a pair does not change the median of both sides, so the sign test of
    # outliers is exact. The median of one side would rise with its outliers, and hide them.
    threshold = rule.outlier * np.median(np.concatenate([allowed, candidate]), axis=0)
    sides = (candidate > threshold).astype(int) - (allowed > threshold)
    outliers = DiscordantPairs.count(sides)
    is_last = len(pairs) == rule.analyses[-1]
    has_more_outliers = is_last and outliers.p_value_of_rise <= alpha_outliers
    interval = _interval(log_excess, sides, alpha, rule.alpha_pass)
    mean_ratio = float((candidate.mean(axis=0) / allowed.mean(axis=0)).mean())
    added = _added_by_outliers(baseline, candidate, sides) * (alpha_outliers > 0)
    costly_scenarios = tuple(
        index
        for index in range(len(added))
        if signed_rank_interval(log_excess[:, index], 0.0, 0.0).centre > math.log(rule.most_excess)
        or DiscordantPairs.count(sides[:, index]).p_value_below(rule.rise_of_outliers_anywhere)
        > rule.alpha
        or added[index] > rule.added_by_outliers_anywhere
    )
    rise = rule.most_rise_of_outliers(margin)
    is_open = (
        mean_ratio > rule.most_excess
        or bool(costly_scenarios)
        or outliers.p_value_below(rise) > rule.alpha_pass
        or bool(added.mean() > rule.added_by_outliers)
    )
    verdict = Verdict.SLOWER if has_more_outliers else interval.verdict(is_open=is_open)
    # Among many questions, some have bounds below 1 by chance. So only a fall by more than the
    # margin is reported.
    has_fallen = not allowance and interval.high < -2 * math.log1p(margin)
    if verdict is Verdict.WITHIN_MARGIN and has_fallen:
        verdict = Verdict.FASTER
    # Without an allowance, ratios are to the baseline rather than to the allowed cost.
    shift = 0.0 if allowance else math.log1p(margin)
    return RuleResult(
        verdict=verdict,
        rounds=len(pairs),
        ratio=interval.ratio(len(pairs), shift),
        mean_ratio=mean_ratio * math.exp(shift) if mean_ratio > rule.most_excess else None,
        outliers=outliers,
        by_outliers=has_more_outliers and interval.low <= 0,
        costly_scenarios=costly_scenarios,
    )


def _interval(log_excess: Floats, sides: Sides, alpha_fail: float, alpha_pass: float) -> Interval:
    """The interval of the log excess.

    The upper bound is that of the pairs that are not discordant if this is below 0: outliers have
    tests of their own. Whether a pair is discordant does not depend on which of its runs is the
    candidate's, so the test of the other pairs is exact, too.
    """
    interval = signed_rank_interval(log_excess, alpha_fail, alpha_pass)
    others = log_excess[sides == 0]
    if 0 < others.size < log_excess.size:
        bound = signed_rank_interval(others, alpha_fail, alpha_pass).high
        if interval.low <= bound < 0:
            return replace(interval, centre=min(interval.centre, bound), high=bound)
    return interval


def _added_by_outliers(baseline: Floats, candidate: Floats, sides: Sides) -> Floats:
    """Returns the share that the candidate's outliers add to the baseline's mean, by scenario.

    The shares are of the baseline's cost, not of the allowed cost, as an allowance would hide rare
    late runs. A pair in which only the baseline's run is an outlier can lower a share, but not
    raise it: with a large margin, the candidate may cost more even there.
    """
    import numpy as np

    rises = np.minimum(candidate - baseline, np.where(sides < 0, 0.0, np.inf))
    added: Floats = np.where(sides, rises, 0.0).sum(axis=0) / baseline.sum(axis=0)
    return added


@lru_cache(maxsize=1000)
def judge_limit(pairs: Pairs, rule: Rule = RULE, *, alpha: float) -> RuleResult:
    """Judges pairs of a limit and a cost at one analysis; ``alpha`` is the error of failing.

    Only the test of a failure takes logarithms. So outliers make both tests less certain.
    """
    import numpy as np

    limits, costs = np.moveaxis(np.array(pairs), -1, 0)
    shares = np.ravel(costs / limits)
    logs = signed_rank_interval(np.log(np.maximum(shares, _LEAST_SHARE)), alpha, rule.alpha_pass)
    interval, mean = signed_rank_interval(shares, alpha, rule.alpha_pass), float(shares.mean())
    outliers = DiscordantPairs.count((shares > rule.outlier).astype(int))
    is_open = mean > 1 or outliers.p_value_below(rule.rise_of_outliers) > rule.alpha_pass
    low, high = math.exp(logs.low), interval.high
    return RuleResult(
        verdict=replace(logs, high=high - 1).verdict(is_open=is_open),
        rounds=len(pairs),
        ratio=Estimate(
            interval.centre, low or None, high if math.isfinite(high) else None, len(pairs)
        ),
        mean_ratio=mean if mean > 1 else None,
        outliers=outliers,
    )

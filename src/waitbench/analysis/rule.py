"""The rule by which candidates are judged: exact tests on pairs, and the intervals of these tests.

One observation is one pair, of one scenario in one round:
``t = log(candidate) - log(baseline * (1 + margin) + floor)``.

* *It fails* if the signed-rank test says that t lies above 0 (F. Wilcoxon, "Individual comparisons
  by ranking methods", Biometrics Bulletin 1, 1945). The distribution of the sum is that of the
  mid-ranks at hand, so that it is exact with ties and zeros, too (J. Pratt, "Remarks on zeros and
  ties in the Wilcoxon signed rank procedures", JASA 54, 1959).
* *It fails, too,* if it has certainly more dear runs than the baseline: if one side of a pair is
  dear, a fair coin says which (I. McNemar, Psychometrika 12, 1947). This is asked once.
* *It is within its margin* if the test says that t lies below 0, dear runs are certainly not a
  quarter more frequent (T. Tango, Statistics in Medicine 17, 1998), and the ratio of the plain
  means is no more than twice the margin.
* *Else it is inconclusive.*

The numbers of rounds after which one looks are fixed. Errors are divided evenly over looks and
questions (Bonferroni), so that nothing need be known of how these depend on each other. Estimate
and interval of t are those of the same test (J. Hodges and E. Lehmann, "Estimates of location based
on rank tests", Annals of Mathematical Statistics 34, 1963): verdict and table cannot disagree.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from waitbench.analysis.verdicts import Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ALPHA = 0.05
"""The chance that a comparison without any regression fails at all.

Also, of each question by itself, that a real regression is called none.
"""
ALPHA_DEAR = 0.016
"""The part of ``ALPHA`` that is spent on dear runs."""
LOOKS = (6, 10, 15, 20, 30)
"""Numbers of rounds after which one looks."""
LOOKS_OF_ONE = (11, 16, 22, 30)
"""The same where a question is about a single scenario.

With eleven pairs it can fail, and with sixteen there can be certainly no more dear runs.
"""
DEAR = 2.0
"""A run is dear if it costs more than so many times the median of the baseline's.

Where twice the margin allows more, it is that.
"""
RARE = 0.25
"""So much more frequent dear runs must not be missed."""
PAYS = 0.1
"""The share by which a cost must certainly have fallen to excuse a rise of what explains it."""
GREATEST = 1e9
"""Files and tables hold ratios up to here."""
_DIGITS = 12
"""Of logarithms, so that values that are equal but for rounding are ties."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A location and its one-sided bounds; infinite where so few values allow none."""

    centre: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Dear:
    """How often one side of a pair was dear, and the other was not."""

    candidate: int
    baseline: int
    pairs: int


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What is known after some rounds.

    Ratios are to the baseline; with a floor, to what is allowed. They are ``None`` before the first
    look, and bounds where so few pairs allow none.
    """

    verdict: Verdict = Verdict.INCONCLUSIVE
    rounds: int = 0
    """Those of the look that it is of."""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    """Bounds that hold over all looks together; the lower one over all questions too."""
    means: float | None = None
    """The same ratio of the plain means: rare dear runs count in full."""
    dear: Dear | None = None
    by_dear_runs: bool = False
    """Whether it fails by these."""
    is_mean_beyond: bool = False
    """Whether the means rose by more than twice the margin, which keeps it from being within."""


def looks_of(scenarios: int) -> tuple[int, ...]:
    """When one looks at a question about so many scenarios."""
    return LOOKS if scenarios > 1 else LOOKS_OF_ONE


@dataclass(frozen=True, kw_only=True)
class Share:
    """A question's share of the errors."""

    looks: tuple[int, ...]
    questions: int
    """How many share the error of an alarm."""
    about_dear: int = 0
    """How many share that of dear runs; 0 where the question cannot fail by these."""
    dear_look: int = LOOKS[-1]
    """The one look at which it may."""

    @property
    def alarm(self) -> float:
        """The chance of failing at one look without a reason."""
        return (ALPHA - ALPHA_DEAR) / (len(self.looks) * self.questions)

    @property
    def clear(self) -> float:
        """The chance of being called within its margin at one look in spite of a rise."""
        return ALPHA / len(self.looks)

    def dear_at(self, look: int) -> float:
        """The chance of failing by dear runs without a reason; 0 where that is not asked."""
        return ALPHA_DEAR / self.about_dear if self.about_dear and look == self.dear_look else 0.0


def judge(
    pairs: Floats,
    *,
    margin: float,
    floor: float,
    share: Share,
    asks_dear: bool = True,
    muted: Collection[int] = (),
) -> Finding | None:
    """Judges costs of shape (rounds, scenarios, 2), baseline first; ``None`` before the first look.

    Costs are above 0. An alarm at any look stands; else the first look that finds it within its
    margin; else the last. The bounds of all looks hold at once, so the narrowest are given, unless
    costs drift so much that these exclude each other. Without ``asks_dear`` only the centre is
    judged. After the ``muted`` numbers of rounds nothing is within its margin.
    """
    looks = [look for look in share.looks if look <= len(pairs)]
    if not looks:
        return None
    looked = [_judge_at(pairs[:look], margin, floor, share, asks_dear=asks_dear) for look in looks]
    intervals = [interval for _, interval in looked]
    found = [
        replace(one, verdict=Verdict.INCONCLUSIVE)
        if one.verdict is Verdict.WITHIN_MARGIN and one.rounds in muted
        else one
        for one, _ in looked
    ]
    order = (Verdict.SLOWER, Verdict.WITHIN_MARGIN)
    known = next((one for verdict in order for one in found if one.verdict is verdict), found[-1])
    own = intervals[found.index(known)]
    low = max(one.low for one in intervals)
    high = min(one.high for one in intervals)
    if low > high:
        low, high = own.low, own.high
    centre = min(max(own.centre, low), high)
    # As far as it may rise: bounds that hold for each question by itself lie below 1 by chance.
    has_fallen = not floor and high < -2 * math.log1p(margin)
    is_faster = known.verdict is Verdict.WITHIN_MARGIN and has_fallen
    shown = 0.0 if floor else math.log1p(margin)
    return replace(
        known,
        verdict=Verdict.FASTER if is_faster else known.verdict,
        ratio=_ratio(centre + shown),
        low=_ratio(low + shown),
        high=_ratio(high + shown),
    )


def _ratio(log: float) -> float | None:
    return math.exp(min(log, math.log(GREATEST))) if math.isfinite(log) else None


def _judge_at(
    pairs: Floats, margin: float, floor: float, share: Share, *, asks_dear: bool
) -> tuple[Finding, Interval]:
    """What one look says, and the interval of t."""
    import numpy as np

    rounds = len(pairs)
    baseline, candidate = pairs[..., 0], pairs[..., 1]
    allowed = baseline * (1 + margin) + floor
    interval = hodges_lehmann(np.log(candidate / allowed), share.alarm, share.clear)
    dear = _dear(pairs, margin, floor)
    heads = chance_of_heads(dear.candidate, dear.candidate + dear.baseline)
    is_dear_worse = heads <= share.dear_at(rounds)
    may_be_dearer = asks_dear and chance_of_so_few(dear, RARE) > share.clear
    # Each scenario counts alike.
    most = baseline.mean(axis=0) * (1 + 2 * margin) + floor
    is_mean_beyond = asks_dear and float((candidate.mean(axis=0) / most).mean()) > 1
    verdict = Verdict.INCONCLUSIVE
    if interval.low > 0 or is_dear_worse:
        verdict = Verdict.SLOWER
    elif interval.high < 0 and not (may_be_dearer or is_mean_beyond):
        verdict = Verdict.WITHIN_MARGIN
    shown = allowed if floor else baseline
    return Finding(
        verdict=verdict,
        rounds=rounds,
        dear=dear,
        means=float((candidate.mean(axis=0) / shown.mean(axis=0)).mean()),
        by_dear_runs=is_dear_worse and interval.low <= 0,
        is_mean_beyond=is_mean_beyond,
    ), interval


def _dear(pairs: Floats, margin: float, floor: float) -> Dear:
    """By the baseline's median alone: no candidate moves what is dear."""
    import numpy as np

    # What twice the margin allows is not dear.
    limit = max(DEAR, 1 + 2 * margin) * (np.median(pairs[..., 0], axis=0) + floor)
    theirs, ours = pairs[..., 0] > limit, pairs[..., 1] > limit
    return Dear(
        candidate=int((ours & ~theirs).sum()),
        baseline=int((theirs & ~ours).sum()),
        pairs=ours.size,
    )


def hodges_lehmann(values: Floats, error_low: float, error_high: float) -> Interval:
    """The median of all means of two values, and the bounds that invert the signed-rank test.

    The truth lies below ``low`` with a chance of at most ``error_low``, above ``high`` of
    ``error_high``, if values are symmetric about it. Takes one value at least, in any shape.
    """
    import numpy as np

    rounded = np.round(np.ravel(values).astype(float), _DIGITS)
    return _interval(np.sort(rounded).tobytes(), error_low, error_high)


@lru_cache(maxsize=10_000)
def _interval(data: bytes, error_low: float, error_high: float) -> Interval:
    import numpy as np

    values = np.frombuffer(data)
    first, second = np.triu_indices(len(values))
    means = np.unique(np.round((values[first] + values[second]) / 2, _DIGITS), return_counts=True)
    centre = float(np.median(np.repeat(*means)))
    return Interval(
        centre=centre,
        low=_lower_bound(values, means[0], error_low),
        high=-_lower_bound(-values, -means[0][::-1], error_high),
    )


def _lower_bound(values: Floats, means: Floats, error: float) -> float:
    """The greatest of the sorted means below which the test rejects every location.

    Between two of them the test says the same of all locations; they become likelier upwards.
    """
    low, high = 0, len(means)  # the test rejects below means[low - 1], and not from means[high] on
    while low < high:
        middle = (low + high) // 2
        below = means[middle - 1] if middle else means[0] - 1.0
        if chance_above(values - (below + means[middle]) / 2) <= error:
            low = middle + 1
        else:
            high = middle
    return float(means[low - 1]) if low else -math.inf


def chance_above(values: Floats) -> float:
    """The chance of so great a sum of the positive values' ranks, if signs were fair coins.

    Zeros have ranks, and no sign.
    """
    import numpy as np
    from scipy.stats import rankdata

    rounded = np.round(values, _DIGITS)
    # Twice the mid-ranks are whole numbers.
    ranks = np.rint(2 * rankdata(np.abs(rounded))).astype(int)
    chances = _chances_of_sums(tuple(sorted(ranks[rounded != 0].tolist())))
    return float(min(1.0, chances[int(ranks[rounded > 0].sum()) :].sum()))


@lru_cache(maxsize=1000)
def _chances_of_sums(ranks: tuple[int, ...]) -> Floats:
    """The chance of each sum of ranks, each of which a fair coin takes or leaves."""
    import numpy as np

    chances = np.zeros(sum(ranks) + 1)
    chances[0] = 1.0
    end = 1
    for rank in ranks:
        taken = chances[:end] / 2
        chances[:end] /= 2
        chances[rank : rank + end] += taken
        end += rank
    return chances


def fell_by(logs: Floats, share: float, error: float) -> bool:
    """Whether ratios certainly lie below ``1 - share``, and their centre does in each scenario.

    Takes logarithms of shape (rounds, scenarios). What fell in one pays for no rise in another.
    """
    most = math.log1p(-share)
    centres = (hodges_lehmann(own, error, error).centre for own in logs.T)
    return hodges_lehmann(logs, error, error).high < most and max(centres) < most


def chance_of_heads(heads: int, throws: int) -> float:
    """The chance of at least so many heads of a fair coin."""
    from scipy import special

    return float(special.bdtrc(heads - 1, throws, 0.5)) if heads else 1.0


def chance_of_so_few(dear: Dear, more: float) -> float:
    """The chance of so few dear runs, if the candidate's were so much more frequent.

    T. Tango's score test of a difference of paired rates (Statistics in Medicine 17, 1998).
    """
    from scipy import special

    n, ours, theirs = dear.pairs, dear.candidate, dear.baseline
    # The likeliest rate of the baseline's, given the difference.
    linear = (2 * n - ours + theirs) * more - ours - theirs
    root = math.sqrt(linear**2 + 8 * n * theirs * more * (1 - more))
    rate = (root - linear) / (4 * n)
    deviation = math.sqrt(n * (2 * rate + more * (1 - more)))
    return float(special.ndtr((ours - theirs - n * more) / deviation))

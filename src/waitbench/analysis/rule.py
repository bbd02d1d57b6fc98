"""The rule by which candidates are judged: exact tests on pairs, and the intervals of these tests.

One observation is one pair, of one scenario in one round: what the candidate cost, and what was
allowed, ``baseline * (1 + margin) + floor``; ``t`` is the logarithm of their ratio. A run is *dear*
if it costs more than twice the median of what is allowed.

* *It fails* if the signed-rank test says that t lies above 0 (F. Wilcoxon, "Individual comparisons
  by ranking methods", Biometrics Bulletin 1, 1945). The distribution of the sum is that of the
  mid-ranks at hand, so that it is exact with ties and zeros, too (J. Pratt, "Remarks on zeros and
  ties in the Wilcoxon signed rank procedures", JASA 54, 1959).
* *It fails, too,* if it has certainly more dear runs: if one side of a pair is dear, a fair coin
  says which (I. McNemar, Psychometrika 12, 1947). This is asked once, at the last of ``LOOKS``.
* *It is within its margin* if the test says that t lies below 0 where not one side alone is dear;
  dear runs are certainly not more frequent by ``RARE`` (T. Tango, Statistics in Medicine 17, 1998);
  neither the plain means nor the centre of any scenario lie above ``BEYOND``; and in no scenario
  dear runs may well be more frequent by ``RARE_ANYWHERE``.
* *Else it is inconclusive.*

The verdict is that of the latest look. The numbers of rounds after which one looks are fixed, and
errors are divided over looks and questions (Bonferroni), so that nothing need be known of how these
depend on each other. Estimate and bounds are those of the same test (J. Hodges and E. Lehmann,
"Estimates of location based on rank tests", Annals of Mathematical Statistics 34, 1963): verdict
and table cannot disagree.
"""

from __future__ import annotations

import math
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
LOOKS = (4, 8, 16, 30)
"""Numbers of rounds after which one looks.

Six scenarios together can pass at the first, two at the second, a single one at the third. Two of
which a large rise is asked can pass at the first, a single one at the second.
"""
CLEAR = ALPHA / len(LOOKS)
"""The chance of being called within its margin at one look in spite of a rise."""
DEAR = 2.0
"""A run is dear if it costs more than so many times the median of what is allowed."""
RARE = 0.3
"""So much more frequent dear runs must not be missed."""
RARE_ANYWHERE = 0.5
"""The same in one of several scenarios, with a chance of ``ALPHA`` at one look; and where a large
rise is allowed, so that two scenarios can pass at the first look."""
A_LARGE_RISE = 1.0
"""A margin from here on is about what breaks, not about what it costs now and then."""
BEYOND = 1.15
"""What passes costs no more than so many times what is allowed, by its means and anywhere."""
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
    """Whether the means are, which keeps it from being within its margin."""
    apart: int | None = None
    """The scenario, by its place, whose own centre or dear runs are, which does so too."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """A question's shares of the errors."""

    part: float = 1.0
    """Of that of an alarm."""
    part_dear: float = 0.0
    """Of that of dear runs; 0 where the question cannot fail by these."""

    @property
    def alarm(self) -> float:
        """The chance of failing at one look without a reason."""
        return (ALPHA - ALPHA_DEAR) * self.part / len(LOOKS)

    def dear_at(self, look: int) -> float:
        """The chance of failing by dear runs without a reason; 0 where that is not asked."""
        return ALPHA_DEAR * self.part_dear if look == LOOKS[-1] else 0.0


def judge(
    pairs: Floats, *, margin: float, floor: float, share: Share, beyond: float = BEYOND
) -> Finding | None:
    """Judges costs of shape (rounds, scenarios, 2), baseline first; ``None`` before the first look.

    Costs are above 0.
    """
    import numpy as np

    look = max((look for look in LOOKS if look <= len(pairs)), default=0)
    if not look:
        return None
    looked = np.ascontiguousarray(pairs[:look], dtype=float)
    return _judge(looked.tobytes(), looked.shape, margin, floor, share, beyond)


@lru_cache(maxsize=1000)
def _judge(
    data: bytes, shape: tuple[int, ...], margin: float, floor: float, share: Share, beyond: float
) -> Finding:
    """Asked after each run, and answered once for each look."""
    import numpy as np

    pairs = np.frombuffer(data).reshape(shape)
    baseline, candidate = pairs[..., 0], pairs[..., 1]
    allowed = baseline * (1 + margin) + floor
    logs = np.log(candidate / allowed)
    # By the baseline's median alone: no candidate moves what is dear.
    limit = DEAR * np.median(allowed, axis=0)
    theirs, ours = allowed > limit, candidate > limit
    dear = _dear(ours, theirs)
    interval = _interval_without(logs, ours != theirs, share.alarm)
    heads = chance_of_heads(dear.candidate, dear.candidate + dear.baseline)
    is_dear_worse = heads <= share.dear_at(len(pairs))
    means = candidate.mean(axis=0) / allowed.mean(axis=0)
    is_mean_beyond = float(means.mean()) > beyond
    apart = _apart(logs, ours, theirs, math.log(beyond))
    rare = RARE if margin < A_LARGE_RISE else RARE_ANYWHERE
    is_kept_open = is_mean_beyond or apart is not None or chance_of_so_few(dear, rare) > CLEAR
    verdict = Verdict.INCONCLUSIVE
    if interval.low > 0 or is_dear_worse:
        verdict = Verdict.SLOWER
    elif interval.high < 0 and not is_kept_open:
        # As far as it may rise: bounds that hold for each question by itself lie below 1 by chance.
        has_fallen = not floor and interval.high < -2 * math.log1p(margin)
        verdict = Verdict.FASTER if has_fallen else Verdict.WITHIN_MARGIN
    # To the baseline, without a floor.
    shown = 0.0 if floor else math.log1p(margin)
    return Finding(
        verdict=verdict,
        rounds=len(pairs),
        ratio=_ratio(interval.centre + shown),
        low=_ratio(interval.low + shown),
        high=_ratio(interval.high + shown),
        means=float(means.mean()) * math.exp(shown),
        dear=dear,
        by_dear_runs=is_dear_worse and interval.low <= 0,
        is_mean_beyond=is_mean_beyond,
        apart=apart,
    )


def _dear(ours: NDArray[np.bool_], theirs: NDArray[np.bool_]) -> Dear:
    return Dear(
        candidate=int((ours & ~theirs).sum()), baseline=int((theirs & ~ours).sum()), pairs=ours.size
    )


def _apart(
    logs: Floats, ours: NDArray[np.bool_], theirs: NDArray[np.bool_], beyond: float
) -> int | None:
    """The first scenario that is no part of a pass, by its centre or by its dear runs."""
    for place, own in enumerate(logs.T):
        dear = _dear(ours[:, place], theirs[:, place])
        if _centre(_means_of_two(own)) > beyond or chance_of_so_few(dear, RARE_ANYWHERE) > ALPHA:
            return place
    return None


def _ratio(log: float) -> float | None:
    return math.exp(min(log, math.log(GREATEST))) if math.isfinite(log) else None


def _interval_without(logs: Floats, one_is_dear: NDArray[np.bool_], alarm: float) -> Interval:
    """The interval, with the upper bound of pairs with no dear side, or two, where these pass.

    Dear runs have tests of their own. Whether a pair is such does not depend on which side is the
    candidate's, if it costs what is allowed, so that the test of the others is exact as well.
    """
    found = hodges_lehmann(logs, alarm, CLEAR)
    others = logs[~one_is_dear]
    high = hodges_lehmann(others, alarm, CLEAR).high if others.size else math.inf
    if not found.low <= high < 0:
        return found
    return replace(found, centre=min(found.centre, high), high=high)


def hodges_lehmann(values: Floats, error_low: float, error_high: float) -> Interval:
    """The median of all means of two values, and the bounds that invert the signed-rank test.

    The truth lies below ``low`` with a chance of at most ``error_low``, above ``high`` of
    ``error_high``, if values are symmetric about it. Takes one value at least, in any shape.
    """
    import numpy as np

    values = np.sort(np.round(np.ravel(values).astype(float), _DIGITS))
    means = _means_of_two(values)
    distinct = np.unique(means)
    return Interval(
        centre=_centre(means),
        low=_lower_bound(values, distinct, error_low),
        high=-_lower_bound(-values, -distinct[::-1], error_high),
    )


def _means_of_two(values: Floats) -> Floats:
    import numpy as np

    first, second = np.triu_indices(len(values))
    means: Floats = np.round((values[first] + values[second]) / 2, _DIGITS)
    return means


def _centre(means: Floats) -> float:
    import numpy as np

    return float(np.median(means))


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

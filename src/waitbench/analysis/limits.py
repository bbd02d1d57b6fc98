"""Limits: absolute budgets of a revision, and their test.

A *share* is the cost of a run divided by its limit. Shares are judged at the analyses of the rule,
with its errors:

* *A limit fails* if the signed-rank test proves the logarithms of the shares above 0.
* *It holds* if that test proves the shares themselves below 1, and nothing keeps it open: a plain
  mean above 1, or outliers, of more than twice the limit, that may have a frequency of ``RARE``.
* *Else it is inconclusive.*

Shares are skewed, if at all, by outliers. Then these two tests are the conservative ones, and the
logarithm of 0 is needed for a rank only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from waitbench.analysis.rule import ALPHA_PASS, OUTLIER, RARE, OutlierCounts, Pairs, RuleResult
from waitbench.analysis.signed_rank import hodges_lehmann
from waitbench.model.estimate import Estimate
from waitbench.model.metrics import Metric
from waitbench.model.record import Record
from waitbench.model.verdicts import Verdict

_NOTHING = 1e-9
"""Stands for a share of 0 in logarithms."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The most that a metric may be in a run."""

    text: str
    """As users write it."""
    most: float
    """In the metric's unit, or in that per second."""
    unit: str
    """The unit of the text, in which figures are shown."""
    size: float
    """The size of that unit in the metric's."""
    by_second: bool = False

    def pairs(self, record: Record, label: str, metric: Metric) -> dict[int, tuple[float, float]]:
        """The limit and the cost of a revision, by the number of the round."""
        pairs = {}
        for run in record.of(label):
            value = run.cost(metric)
            # A value of 0 needs no window.
            if value and self.by_second:
                window_s = record.window_s(run)
                value = value / window_s if window_s else None
            if value is not None:
                pairs[run.round] = (self.most, value)
        return pairs


@lru_cache(maxsize=1000)
def judge(pairs: Pairs, *, alpha: float) -> RuleResult:
    """Judges ``(limit, value)`` at one analysis; ``alpha`` is the chance of a false failure."""
    import numpy as np

    limits, values = np.moveaxis(np.array(pairs), -1, 0)
    shares = np.ravel(values / limits)
    low = math.exp(hodges_lehmann(np.log(np.maximum(shares, _NOTHING)), alpha, ALPHA_PASS).low)
    interval, means = hodges_lehmann(shares, alpha, ALPHA_PASS), float(shares.mean())
    outliers = OutlierCounts.count((shares > OUTLIER).astype(int))
    verdict = Verdict.INCONCLUSIVE
    if low > 1:
        verdict = Verdict.SLOWER
    elif interval.high < 1 and means <= 1 and outliers.chance_of_so_few(RARE) <= ALPHA_PASS:
        verdict = Verdict.WITHIN_MARGIN
    high = interval.high if math.isfinite(interval.high) else None
    return RuleResult(
        verdict=verdict,
        rounds=len(pairs),
        ratio=Estimate(interval.centre, low or None, high, len(pairs)),
        means=means if means > 1 else None,
        outliers=outliers,
    )

"""Limits: budgets of what a revision costs by itself, and the test of one.

A *share* is what a run cost of its limit. Shares are judged at the looks of the rule, and by its
errors:

* *It fails* if the signed-rank test says that their logarithms lie above 0.
* *It holds* if that test says that the shares themselves lie below 1, and nothing keeps it open:
  plain means above 1, or dear runs, of more than twice the limit, that may come ``RARE`` often.
* *Else it is inconclusive.*

Shares of a worker are skewed, if at all, by dear runs. Then their logarithms are later above, and
the shares later below, than the other way round; and nothing needs the logarithm of 0 but a rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from waitbench.analysis.rule import CLEAR, DEAR, RARE, Dear, Finding, Pairs
from waitbench.analysis.signed_rank import hodges_lehmann
from waitbench.model.estimate import Estimate
from waitbench.model.metrics import Metric
from waitbench.model.record import Record
from waitbench.model.verdicts import Verdict

_NOTHING = 1e-9
"""The share that 0 counts as, where it needs a logarithm."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a metric may come to in a run."""

    text: str
    """As users write it."""
    most: float
    """In the metric's unit, or that by the second."""
    unit: str
    """That of the text, in which figures are shown."""
    size: float
    """What one of that unit is in the metric's."""
    by_second: bool = False
    """Whether it is meant by the second of the window."""

    def pairs(self, record: Record, label: str, metric: Metric) -> dict[int, tuple[float, float]]:
        """The limit and what a revision came to, in each round that has it, by its number."""
        found = {}
        for run in record.of(label):
            value = run.cost(metric)
            # What did nothing needs no window.
            if value and self.by_second:
                window_s = record.window_s(run)
                value = value / window_s if window_s else None
            if value is not None:
                found[run.round] = (self.most, value)
        return found


@lru_cache(maxsize=1000)
def judge(pairs: Pairs, *, alarm: float) -> Finding:
    """Judges the limit and the values of one look; ratios are shares of the limit.

    It fails without a reason by a chance of ``alarm``.
    """
    import numpy as np

    limits, values = np.moveaxis(np.array(pairs), -1, 0)
    shares = np.ravel(values / limits)
    low = math.exp(hodges_lehmann(np.log(np.maximum(shares, _NOTHING)), alarm, CLEAR).low)
    found, means = hodges_lehmann(shares, alarm, CLEAR), float(shares.mean())
    dear = Dear.of((shares > DEAR).astype(int))
    verdict = Verdict.INCONCLUSIVE
    if low > 1:
        verdict = Verdict.SLOWER
    elif found.high < 1 and means <= 1 and dear.chance_of_so_few(RARE) <= CLEAR:
        verdict = Verdict.WITHIN_MARGIN
    high = found.high if math.isfinite(found.high) else None
    return Finding(
        verdict=verdict,
        rounds=len(pairs),
        ratio=Estimate(found.centre, low or None, high, len(pairs)),
        means=means if means > 1 else None,
        dear=dear,
    )

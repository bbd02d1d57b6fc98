"""Medians with what encloses them, for charts, which show a few runs of any distribution."""

from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.analysis.distributions import fair_coin_at_most
from waitbench.analysis.statistics import CONFIDENCE
from waitbench.model.metrics import quantile


@dataclass(frozen=True, kw_only=True)
class Median:
    """A median and what encloses it; all three lie within the values."""

    value: float
    low: float
    high: float
    is_confident: bool
    """Whether ``low`` and ``high`` enclose it with ``CONFIDENCE``; else they are the range."""


def median(values: Sequence[float]) -> Median:
    """The median of at least one value, between the closest values that are sure enough.

    The ``k``-th smallest and the ``k``-th greatest of ``n`` values enclose the median of their
    distribution, whatever it is, unless fewer than ``k`` values fall on one side of it: as often as
    ``n`` throws of a coin give fewer than ``k`` heads, or tails (H. David and H. Nagaraja, "Order
    Statistics", 3rd edition, 2003, section 7.1). Five values or fewer cannot be as sure as 95 %,
    not even by their smallest and greatest.
    """
    ordered = sorted(values)
    rank = cut(len(ordered))
    return Median(
        value=quantile(ordered, 0.5),
        low=ordered[max(rank, 1) - 1],
        high=ordered[-max(rank, 1)],
        is_confident=rank > 0,
    )


def cut(count: int) -> int:
    """The greatest ``k`` whose order statistics are sure enough; 0 where none is."""
    found = 0
    while 2 * fair_coin_at_most(found, count) <= 1 - CONFIDENCE:
        found += 1
    return found

"""Quantiles, by linear interpolation: the one way in which this project takes percentiles."""

import math
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


def quantile(values: Iterable[float], q: float) -> float:
    """The value below which a share ``q`` of ``values`` lies; they need not be sorted."""
    return weighted_quantile(((value, 1) for value in values), q)


def weighted_quantile(counts: Iterable[tuple[float, int]], q: float) -> float:
    """A quantile of values that are given as ``(value, how often it occurs)``, in any order.

    Equal to that of the list in which each value stands as often as it occurs: definition 7 of
    Hyndman and Fan ("Sample quantiles in statistical packages", The American Statistician 50,
    1996), which is numpy's default. Raises ``ValueError`` where nothing occurs, and for a ``q``
    outside 0 … 1.
    """
    ordered = sorted((value, count) for value, count in counts if count > 0)
    if not ordered:
        raise ValueError("There is no quantile of no values.")
    if not 0 <= q <= 1:
        raise ValueError(f"{q!r} is not a share between 0 and 1.")
    ends = list(accumulate(count for _, count in ordered))
    position = q * (ends[-1] - 1)
    before = math.floor(position)
    lower, upper = (
        ordered[bisect_right(ends, place)][0] for place in (before, min(before + 1, ends[-1] - 1))
    )
    share = position - before
    # From the nearer end, as numpy does: exact at both.
    if share < 0.5:
        return lower + (upper - lower) * share
    return upper - (upper - lower) * (1 - share)

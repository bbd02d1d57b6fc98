"""Finds the length of the window of a worker whose file has none, in a first run of the baseline.

A window is long enough if its quarters hardly differ in wake-ups and CPU: a periodic cost that
matters then recurs at least three times in it. Launchers import this: standard library only.
"""

from collections.abc import Sequence
from itertools import pairwise

EVERY_S = 0.25
"""The time between two readings."""
SEEN_S = 12.0
"""The least time for which the worker is watched, as costs may recur at long intervals."""
LEAST_S, MOST_S = 4.0, 20.0
"""Limits of a window: the longest is taken if the quarters of none agree."""
_QUARTERS = 4
_WAKEUPS, _CPU_S = (2.0, 0.2), (0.001, 0.5)
"""Allowed differences between quarters: an absolute one, plus a share of their mean."""

Reading = tuple[float, float]
"""The number of wake-ups, and the CPU time in s, so far."""


def shortest_window_s(readings: Sequence[Reading]) -> float | None:
    """Returns the shortest window that is long enough; ``None`` if more readings are needed."""
    intervals = len(readings) - 1
    if intervals * EVERY_S < SEEN_S:
        return None
    for window_s in range(round(LEAST_S), round(MOST_S) + 1):
        step = round(window_s / EVERY_S / _QUARTERS)
        if _QUARTERS * step <= intervals and _agree(readings[::step]):
            return float(window_s)
    return MOST_S if intervals * EVERY_S >= MOST_S else None


def _agree(readings: Sequence[Reading]) -> bool:
    """Whether wake-ups and CPU rise about equally between readings."""
    for place, (absolute, share) in enumerate((_WAKEUPS, _CPU_S)):
        rises = [after[place] - before[place] for before, after in pairwise(readings)]
        if max(rises) - min(rises) > absolute + share * sum(rises) / len(rises):
            return False
    return True

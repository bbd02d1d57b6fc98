"""Finds the window of a worker whose file names none, by a first run of the baseline.

A window is long enough if its quarters agree in wake-ups and CPU: then it holds at least three
periods of anything that was seen and matters. Pure; the standard library only.
"""

from collections.abc import Sequence
from itertools import pairwise

EVERY_S = 0.25
SEEN_S = 12.0
"""The least time for which the worker is watched."""
LEAST_S, MOST_S = 4.0, 20.0
"""Limits of a window; the longest is taken if none is long enough."""
_QUARTERS = 4
_WAKEUPS, _CPU_S = (2.0, 0.2), (0.001, 0.5)
"""Allowed differences of quarters: absolute, and as a share of their mean."""

Reading = tuple[float, float]
"""Wake-ups and CPU seconds so far."""


def shortest_window_s(readings: Sequence[Reading]) -> float | None:
    """Returns the shortest window that is long enough; ``None`` if more must be watched."""
    watched = len(readings) - 1
    if watched * EVERY_S < SEEN_S:
        return None
    for window_s in range(round(LEAST_S), round(MOST_S) + 1):
        step = round(window_s / EVERY_S / _QUARTERS)
        if _QUARTERS * step <= watched and _agree(readings[::step]):
            return float(window_s)
    return MOST_S if watched * EVERY_S >= MOST_S else None


def _agree(readings: Sequence[Reading]) -> bool:
    for place, (least, share) in enumerate((_WAKEUPS, _CPU_S)):
        rises = [after[place] - before[place] for before, after in pairwise(readings)]
        if max(rises) - min(rises) > least + share * sum(rises) / len(rises):
            return False
    return True

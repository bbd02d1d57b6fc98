"""How long a gate watches a worker whose file does not say it, by a first run of the baseline.

A window is long enough if parts of a quarter of it, one after the other, agree in wake-ups and in
CPU. Then it holds three periods or more of whatever was seen and matters: what comes seldom comes
as often in each quarter. Pure; the standard library alone.
"""

from collections.abc import Sequence
from itertools import pairwise

EVERY_S = 0.25
"""Between two readings of the counters."""
SEEN_S = 12.0
"""How long the worker is watched, or longer: whatever it does in this time is seen."""
LEAST_S, MOST_S = 4.0, 20.0
"""Of a window. It has the most where none is long enough."""
_QUARTERS = 4
_WAKEUPS, _CPU_S = (2.0, 0.2), (0.001, 0.5)
"""By how much the parts may differ, and by what share of their mean besides."""

Reading = tuple[float, float]
"""All wake-ups and CPU seconds so far."""


def found_in(readings: Sequence[Reading]) -> float | None:
    """The shortest window that is long enough, in seconds; ``None`` where more is to be watched."""
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

"""Whether the window of some runs is too short: whether the wake-ups of its two halves differ.

Where a worker wakes up in bursts, and a window holds one or two, its figures depend on when the
window happens to begin. Then one half has a burst more than the other.
"""

import math
from collections.abc import Mapping, Sequence

WAKEUPS, TIME = "wakeups", "time_s"
"""The keys of a sample of a window: its wake-ups since the one before, and when it ends."""
_FACTOR = 1.5
"""Halves that differ by no more are alike."""
_SCATTER = 2.0
"""So many standard deviations of a count of single wake-ups (Poisson) are chance."""


def is_too_short(samples: Sequence[Sequence[Mapping[str, float]]]) -> bool:
    """Whether the halves differ in most of some runs, of the samples of each: one a half.

    In most, because a burst may come by chance in any one.
    """
    halves = [
        sorted((run[0][WAKEUPS], run[1][WAKEUPS]))
        for run in samples
        if len(run) == 2 and all({WAKEUPS, TIME} <= one.keys() for one in run)
    ]
    differ = sum(
        more > _FACTOR * fewer and more - fewer > _SCATTER * math.sqrt(fewer + more)
        for fewer, more in halves
    )
    return differ > len(halves) / 2

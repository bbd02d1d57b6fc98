"""In what rhythm a worker wakes up while it waits, and whether its window is long enough for that.

What depends on where a window happens to begin is no figure of the worker. So a window is to hold
several periods of what it does, and one that holds fewer is to be told.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

WAKEUPS, TIME = "wakeups", "time_s"
"""The keys of a sample of the rhythm: how many wake-ups since the one before, and when."""
ENOUGH = 3
"""Periods that a window should hold."""
_MOST_RUNS = 20
"""Runs that are looked at; more make no period more certain."""


@dataclass(frozen=True, kw_only=True)
class Rhythm:
    """How the wake-ups of a revision are spread over its windows."""

    window_s: float
    period_s: float | None = None
    """The longest that is certain; ``None`` where there is none."""
    bursts: float | None = None
    """How many a window holds, where these are too few to tell whether they come regularly.

    0 where nothing woke up at all."""

    @property
    def is_short(self) -> bool:
        """Whether the window holds too little of it."""
        if self.period_s is not None:
            return self.window_s < ENOUGH * self.period_s * 0.98  # a period is not known better
        return bool(self.bursts)

    @property
    def enough_s(self) -> int:
        """What window would hold enough, as far as that can be told."""
        if self.period_s is not None:
            return math.ceil(ENOUGH * self.period_s - 0.05)
        return math.ceil(self.window_s * (ENOUGH + 1) / max(1.0, self.bursts or 0.0))


def rhythm_of(samples: Sequence[Sequence[Mapping[str, float]]]) -> Rhythm | None:
    """The rhythm of some runs, of the samples of each; ``None`` where nobody looked."""
    kept = [run for run in samples if run and all({WAKEUPS, TIME} <= one.keys() for one in run)]
    if not kept:
        return None
    window_s = median(run[-1][TIME] for run in kept)
    # What it needs takes a while to import, and few comparisons have such samples.
    from waitbench.analysis.cycles import find

    period, bursts = find(tuple(tuple(one[WAKEUPS] for one in run) for run in kept[:_MOST_RUNS]))
    return Rhythm(
        window_s=window_s,
        period_s=None if period is None else period * window_s,
        bursts=bursts if period is None and bursts < ENOUGH else None,
    )

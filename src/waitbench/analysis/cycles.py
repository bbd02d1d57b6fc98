"""Wake-ups in equal parts of some windows -> the period in which they come, if one is certain.

A period is a peak of the autocorrelation of the wake-ups in equal parts of the window (G. Box and
G. Jenkins, "Time Series Analysis: Forecasting and Control", 1970, chapter 2), added up over the
runs of a revision. It counts if all hold:

* It is higher than the highest in 99 of 100 series with the same bursts in random order: a
  permutation test (P. Good, "Permutation, Parametric, and Bootstrap Tests of Hypotheses", 2005).
* The wake-ups keep to one phase of it: their vector strength (J. Goldberg and P. Brown, Journal of
  Neurophysiology 32, 1969), which is 1 if all come at one moment of a period, and 0 if they come
  evenly, is more than what a steady beat can seem to have that is faster than the looks at it,
  or one that has a wake-up more or less in some windows than fit into whole periods.
* A window has no more bursts than such periods. Else several bursts would be one period: of bursts
  that come regularly, and more often than can be told, some sizes repeat by chance.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import median

import numpy as np
import numpy.typing as npt

_FEWEST_LOOKS = 16
_FINEST = 8
"""Looks in the shortest period that is told; a window holds many of what is shorter."""
_LEAST_STRENGTH = 0.15
"""A beat that is faster than the looks seems to have less, by a period of eight looks or more.

Counts are integrals over a look: a beat at 7/8 of their frequency has sinc(7/8) = 0.14."""
_LEAST_TOGETHER = 1.5
"""Wake-ups of a run, by vector strength: one more or less at the edge of a window has 1."""
_SHUFFLES, _RARE = 199, 0.01
_APART = 0.05
"""Of a window: what is closer together is one burst."""
_QUIET = 0.25
"""Of the looks: as many have no more than what goes on all the time. Of a burst in every second
look, half have more."""
_MOST_BUSY = 0.5
"""Of a window: what takes longer is no burst."""

_Numbers = npt.NDArray[np.float64]
Series = tuple[float, ...]


@lru_cache(maxsize=256)
def find(counts: tuple[Series, ...]) -> tuple[float | None, float]:
    """The longest certain period, as a part of the window, and how many bursts a window holds.

    These are without end where the wake-ups do not come in bursts, or nobody looked often enough.
    It says the same each time.
    """
    looks = min(map(len, counts))
    if looks < _FEWEST_LOOKS:
        return None, math.inf
    runs = [np.array(one[:looks], float) for one in counts]
    bursts = median(map(_bursts, runs))
    period = _period(runs, bursts)
    return None if period is None else period / looks, bursts


def _period(runs: Sequence[_Numbers], bursts: float) -> float | None:
    """The longest certain period, in looks, that has a burst each."""
    (correlation,) = _correlations([run[None, :] for run in runs])
    crossed = np.flatnonzero(correlation <= 0)
    if not len(crossed):
        return None  # it varies slowly, if at all
    chance = np.random.default_rng(1)
    shuffled = _correlations([_shuffled(run, chance) for run in runs])
    highest = shuffled[:, _FINEST:].max(axis=1)
    limit = float(np.quantile(highest, 1 - _RARE, method="higher"))
    last = len(correlation) - 1
    for lag in range(last, max(_FINEST, crossed[0] + 1) - 1, -1):
        after = correlation[min(lag + 1, last)]
        if correlation[lag] > max(limit, correlation[lag - 1]) and correlation[lag] >= after:
            period = _between(correlation, lag)
            if bursts <= math.ceil(len(runs[0]) / period) and _is_kept(runs, period):
                return period
    return None


def _correlations(runs: Sequence[_Numbers]) -> _Numbers:
    """By lag up to half of a window, of all runs together; of each of several series of a run.

    The estimate that falls with the lag: of a period and twice that, the period is the peak.
    """
    looks = runs[0].shape[1]
    total = np.zeros((len(runs[0]), looks // 2 + 1))
    for run in runs:
        spectrum = np.abs(np.fft.rfft(run - run.mean(axis=1, keepdims=True), 2 * looks)) ** 2
        total += np.fft.irfft(spectrum)[:, : looks // 2 + 1]
    return total / np.maximum(total[:, :1], 1e-9)


def _shuffled(run: _Numbers, chance: np.random.Generator) -> _Numbers:
    """A series in random orders, a row each; the looks of a burst stay together."""
    is_busy = run > run.mean()
    begins = np.r_[True, ~(is_busy[1:] & is_busy[:-1])]
    part = np.cumsum(begins) - 1
    places = chance.random((_SHUFFLES, part[-1] + 1))
    found: _Numbers = run[np.argsort(places[:, part], axis=1, kind="stable")]
    return found


def _between(correlation: _Numbers, lag: int) -> float:
    """Where a parabola through a peak and its neighbours is highest."""
    if lag + 1 >= len(correlation):
        return float(lag)
    before, at, after = correlation[lag - 1 : lag + 2]
    bend = before - 2 * at + after
    return lag + (float((before - after) / (2 * bend)) if bend < 0 else 0.0)


def _is_kept(runs: Sequence[_Numbers], period: float) -> bool:
    """Whether the wake-ups keep to a phase, over as many whole periods as there are."""
    looks = round(math.floor(len(runs[0]) / period + 0.02) * period)
    phases = np.exp(-2j * np.pi * np.arange(looks) / period)
    wakeups = sum(float(run[:looks].sum()) for run in runs)
    together = sum(float(abs((run[:looks] * phases).sum())) for run in runs)
    return together >= max(_LEAST_STRENGTH * wakeups, _LEAST_TOGETHER * len(runs))


def _bursts(run: _Numbers) -> float:
    """How many bursts a series consists of; without end where it does not consist of any."""
    background = float(np.quantile(run, _QUIET))
    above = run - background
    places = np.flatnonzero(run > 3 * background)
    if run.sum() > 0 and above[places].sum() < _LEAST_STRENGTH * run.sum():
        return math.inf
    gaps = np.diff(places)
    is_apart = gaps > max(1, round(_APART * len(run)))
    if gaps[~is_apart].sum() > _MOST_BUSY * len(run):
        return math.inf
    return float(len(places) and 1 + np.count_nonzero(is_apart))

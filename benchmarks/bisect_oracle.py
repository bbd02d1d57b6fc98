"""How many rounds a step of a search takes those who know the noise: oracles for a simulation.

They take the same steps as the search, and know how far the mean of so many rounds' ratios, trimmed
as ours is, lies from the truth how often on this machine. They know the changes of a step as well,
and so how far each is from what it must be told from; and they look once, after a number of rounds
that is fixed for each step:

* *sure* promises what a search does, and answers as certainly: the smallest number with which a
  bound errs in 5 % / (steps that one culprit takes), and fails to answer in as much; each half of a
  split has half of both. It need not pay for noise that is unknown, for looking often, nor for
  steps that may come; but it cannot stop early.
* *bare* takes the side that the mean is on: the smallest number that errs in so much at the very
  change that there is. It promises nothing about any other change: one that is just beyond the
  margin it misses every other time.
"""

import math
from functools import cache

import numpy
from numpy.random import default_rng
from scipy import stats

from benchmarks.simulation import MACHINES, SPREADS, Logs
from waitbench.analysis import sequential
from waitbench.analysis.sequential import FEWEST_ROUNDS

POINTS = 256
MARGIN = 0.10
SPREAD = SPREADS["steady"][0] / math.sqrt(2)
"""Standard deviation of the logarithm of one run on a quiet machine."""
_STEPS = math.ceil(math.log2(POINTS)) + 2
"""With one culprit: the endpoints, the splits and the proof."""
_SAMPLE = 20_000
_LONGEST = 60
"""From so many rounds on, what is left of the noise shrinks with the root of their number."""


def sure(machine: str, costs: Logs) -> int:
    """The rounds of a step between points of such costs, given as logarithms, with our promise."""
    return _fewest(2 * _deviations(machine, _error(costs)), _distance(costs))


def bare(machine: str, costs: Logs) -> int:
    """The rounds of such a step for one who takes the side that the mean is on."""
    return _fewest(_deviations(machine, _error(costs)), _distance(costs))


def _error(costs: Logs) -> float:
    return sequential.ALPHA / _STEPS / (len(costs) - 1)


def _distance(costs: Logs) -> float:
    """How far the truth is from what it must be told from; of two halves, the closer."""
    changes = numpy.diff(costs).tolist()
    margin = math.log1p(MARGIN)
    if len(changes) == 1:
        return float(abs(changes[0] - margin))
    # A half is told from the margin if it is left, and from nothing if it goes on.
    return float(min(max(margin - change, change) for change in changes))


def _fewest(reach: Logs, distance: float) -> int:
    """The smallest number of rounds with a reach of no more than a distance."""
    enough = numpy.flatnonzero(reach <= distance)
    if len(enough):
        return FEWEST_ROUNDS + int(enough[0])
    return math.ceil(_LONGEST * (float(reach[-1]) / max(distance, 1e-9)) ** 2)


@cache
def _deviations(machine: str, error: float) -> Logs:
    """What the centre of 3, 4 … rounds lies above the truth by in so many cases."""
    reach: Logs = numpy.quantile(_centres(machine), 1 - error, axis=1)
    return reach


@cache
def _centres(machine: str) -> Logs:
    """Trimmed means of ratios that are truly 1: numbers of rounds × samples."""
    runs = SPREAD * MACHINES[machine](default_rng(0), (_SAMPLE, _LONGEST, 2))
    ratios = runs[:, :, 1] - runs[:, :, 0]
    return numpy.stack(
        [
            stats.trim_mean(ratios[:, :rounds], max(0.1, 1.01 / rounds) if rounds >= 8 else 0, 1)
            for rounds in range(FEWEST_ROUNDS, _LONGEST + 1)
        ]
    )

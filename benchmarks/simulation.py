"""Simulated comparisons by the default criteria, on machines that are worse than most.

Eight scenarios, two of which mostly wait, judged as ``--gate`` judges: 15 hypotheses, three of them
on the mean over several scenarios within each round. How much a pair of runs scatters is what was
measured on two cores with ``-p 2``. The figures of one scenario hang together: a run whose steady
phase took longer also has more system time and a few more wake-ups.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy
from numpy.random import Generator
from numpy.typing import NDArray

from waitbench.analysis.criteria import Criterion

Logs = NDArray[numpy.float64]
"""Logarithms of times or counts, or of their ratios."""
Shape = tuple[int, ...]
"""Trials × rounds × 2: the runs of the baseline and of the candidate."""
Noise = Callable[[Generator, Shape], Logs]
"""Noise of runs; the unit is the standard deviation of a run on a quiet machine."""

WAITING = (0, 1)
WORKING = (2, 3, 4, 5, 6, 7)

SPREADS: Mapping[str, Mapping[int, float]] = {
    "steady": {0: 0.09, 1: 0.13},
    "steady-system": {0: 0.11, 1: 0.15},
    "wakeups": {0: 0.015, 1: 0.025},
    "syscalls": {0: 0.007, 1: 0.007},
    "cpu": {2: 0.07, 3: 0.08, 4: 0.10, 5: 0.11, 6: 0.12, 7: 0.15},
}
"""Standard deviation of the logarithm of a pair's ratio, by metric and scenario."""

_HANGS_TOGETHER = {"steady": 1.0, "cpu": 1.0, "steady-system": 0.7, "wakeups": 0.3, "syscalls": 0.3}
"""Correlation with what all figures of a run share."""


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """What is asked of one metric, in one scenario or in several together."""

    metric: str
    scenarios: tuple[int, ...]
    margin: float
    """Allowed rise, as a share."""


def ask(criteria: Iterable[Criterion]) -> tuple[Hypothesis, ...]:
    """What criteria ask of one candidate in the scenarios that have their metrics."""
    return tuple(
        Hypothesis(metric=criterion.metric.name, scenarios=scenarios, margin=criterion.margin)
        for criterion in criteria
        for scenarios in _taken(tuple(SPREADS[criterion.metric.name]), criterion)
    )


def simulate(
    random: Generator,
    noise: Noise,
    hypotheses: tuple[Hypothesis, ...],
    size: tuple[int, int],
    rises: Mapping[str, float],
) -> Logs:
    """Log ratios, trials × hypotheses × rounds.

    ``size`` are trials and rounds; ``rises`` are real changes by metric, as shares.
    """
    shared = {scenario: noise(random, (*size, 2)) for scenario in (*WAITING, *WORKING)}
    ratios = {
        (metric, scenario): math.log1p(rises.get(metric, 0.0))
        + spread * _pairs(random, noise, shared[scenario], _HANGS_TOGETHER[metric])
        for metric, spreads in SPREADS.items()
        for scenario, spread in spreads.items()
    }
    return numpy.stack(
        [
            numpy.mean([ratios[asked.metric, scenario] for scenario in asked.scenarios], axis=0)
            for asked in hypotheses
        ],
        axis=1,
    )


def _taken(scenarios: tuple[int, ...], criterion: Criterion) -> list[tuple[int, ...]]:
    return [scenarios] if criterion.together else [(scenario,) for scenario in scenarios]


def _pairs(random: Generator, noise: Noise, shared: Logs, correlation: float) -> Logs:
    """Differences between the two runs of a round, with variance 1 on a quiet machine."""
    own = noise(random, shared.shape)
    runs = correlation * shared + math.sqrt(1 - correlation**2) * own
    return numpy.subtract(runs[:, :, 1], runs[:, :, 0]) / math.sqrt(2)


def quiet(random: Generator, shape: Shape) -> Logs:
    """Normal noise."""
    return random.standard_normal(shape)


def heavy_tails(random: Generator, shape: Shape) -> Logs:
    """Noise with 3 degrees of freedom."""
    return random.standard_t(3, shape)


def spikes(random: Generator, shape: Shape) -> Logs:
    """Normal noise, and one run in twenty is twice as long or more if the noise is of 5 %."""
    hit = random.random(shape) < 0.05
    late: Logs = numpy.where(hit, numpy.log1p(random.exponential(1.0, shape)) / 0.05, 0.0)
    return numpy.add(quiet(random, shape), late)


def drift(random: Generator, shape: Shape) -> Logs:
    """The machine's speed walks from round to round; some of it falls between a round's runs."""
    walk: Logs = numpy.cumsum(random.normal(0, 2.0, shape[:2]), axis=1)[:, :, None]
    return walk + random.normal(0, 0.6, shape) + quiet(random, shape)


def everything(random: Generator, shape: Shape) -> Logs:
    """All of these at once."""
    return heavy_tails(random, shape) + spikes(random, shape) + drift(random, shape)


MACHINES: dict[str, Noise] = {
    "quiet": quiet,
    "heavy tails": heavy_tails,
    "spikes": spikes,
    "drift": drift,
    "everything": everything,
}

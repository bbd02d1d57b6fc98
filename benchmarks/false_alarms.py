"""How often the gate fails when nothing changed, and how often it finds a change: simulated.

    .bench/venv/bin/python benchmarks/false_alarms.py [--trials 2000] [--rise 0] [--rounds 30]

Each trial is one comparison of eight scenarios by two criteria with a margin of 10 %: 16
hypotheses, looked at as the gate looks. The machines are worse than most: speed drifts as a random
walk from round to round, and a little within a round; every run has noise with heavy tails
(Student's t with 3 degrees of freedom); one run in twenty is hit by a spike of up to several times
its length. Kept output: docs/trials/simulated.txt, and for ``--rise 0.25 --trials 500``
simulated-25.txt.
"""

import math
from collections.abc import Callable
from statistics import median_high

import numpy
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.common import command_line
from waitbench.analysis import sequential

HYPOTHESES = 16
MARGIN = math.log(1.1)

Logs = NDArray[numpy.float64]
"""Logarithms of times, or of their ratios."""
Shape = tuple[int, ...]
"""Hypotheses × rounds × 2: the runs of the baseline and of the candidate."""
Noise = Callable[[Generator, Shape], Logs]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--rise", type=float, default=0.0, help="a real change, such as 0.25")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for name, noise in MACHINES.items():
        random = numpy.random.default_rng(options.seed)
        results = [
            compare(random, noise, options.rise, options.rounds) for _ in range(options.trials)
        ]
        failed = sum(failure for failure, _ in results)
        last = median_high(look for _, look in results)
        print(
            f"{name:12} failed in {failed} of {options.trials} ({failed / options.trials:.2%}); "
            f"median of last rounds {last}"
        )


def compare(random: Generator, noise: Noise, rise: float, most_rounds: int) -> tuple[bool, int]:
    """What ``decide`` says of one comparison; ``rise`` is a real change in one hypothesis."""
    logs = noise(random, (HYPOTHESES, most_rounds, 2))
    ratios = logs[:, :, 1] - logs[:, :, 0]
    ratios[0] += math.log1p(rise)
    return decide(ratios)


def decide(ratios: Logs) -> tuple[bool, int]:
    """Whether any hypothesis fails at any look, and the look that settles the last of them.

    ``ratios`` are hypotheses × rounds.
    """
    hypotheses, most_rounds = ratios.shape
    looks = sequential.looks_until(most_rounds)
    error = sequential.level(hypotheses, len(looks))
    failed, last = False, 0
    for logs in ratios:
        for look in looks:
            last = max(last, look)
            found = sequential.bounds(list(logs[:look]), error)
            if found.low > MARGIN:
                failed = True
            if found.low > MARGIN or found.high <= MARGIN:
                break
    return failed, last


def quiet(random: Generator, shape: Shape) -> Logs:
    """5 % of normal noise."""
    return random.normal(0, 0.05, shape)


def heavy_tails(random: Generator, shape: Shape) -> Logs:
    """5 % of noise with 3 degrees of freedom."""
    return 0.05 * random.standard_t(3, shape)


def spikes(random: Generator, shape: Shape) -> Logs:
    """5 % of noise, and one run in twenty twice as long or more."""
    hit = random.random(shape) < 0.05
    noise: Logs = random.normal(0, 0.05, shape)
    late: Logs = numpy.where(hit, numpy.log1p(random.exponential(1.0, shape)), 0.0)
    return numpy.add(noise, late)


def drift(random: Generator, shape: Shape) -> Logs:
    """The machine's speed walks by 10 % a round; a little of it falls between a round's runs."""
    walk: Logs = numpy.cumsum(random.normal(0, 0.10, shape[:2]), axis=1)[:, :, None]
    within = random.normal(0, 0.03, shape)
    return walk + within + random.normal(0, 0.05, shape)


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


if __name__ == "__main__":
    main()

"""How often the check fails when nothing changed, and how often it finds a change, on simulated machines.

    .bench/venv/bin/python benchmarks/false_alarms.py [--trials 2000] [--rise 0] [--rounds 30]

Each trial is one comparison of eight scenarios with two criteria (margin 10 %), looked at as the check looks. The machines are worse than most:
speed drifts as a random walk from round to round and a little within a round; every run has noise with heavy tails (Student's t with
3 degrees of freedom); one run in twenty is hit by a spike of up to several times its length.
"""

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from waitbench.analysis import sequential

QUESTIONS = 16
MARGIN = math.log(1.1)
Noise = Callable[[numpy.random.Generator, tuple[int, ...]], numpy.ndarray]


def quiet(random: numpy.random.Generator, shape: tuple[int, ...]) -> numpy.ndarray:
    """5 % of normal noise."""
    return random.normal(0, 0.05, shape)


def heavy_tails(random: numpy.random.Generator, shape: tuple[int, ...]) -> numpy.ndarray:
    """5 % of noise with 3 degrees of freedom."""
    return 0.05 * random.standard_t(3, shape)


def spikes(random: numpy.random.Generator, shape: tuple[int, ...]) -> numpy.ndarray:
    """5 % of noise, and one run in twenty twice as long or more."""
    hit = random.random(shape) < 0.05
    return random.normal(0, 0.05, shape) + hit * numpy.log1p(random.exponential(1.0, shape))


def drift(random: numpy.random.Generator, shape: tuple[int, ...]) -> numpy.ndarray:
    """The machine's speed walks by 10 % a round; a little of it falls between the two runs of a round."""
    walk = numpy.cumsum(random.normal(0, 0.10, shape[:2]), axis=1)[:, :, None]
    within = random.normal(0, 0.03, shape)
    return walk + within + random.normal(0, 0.05, shape)


def everything(random: numpy.random.Generator, shape: tuple[int, ...]) -> numpy.ndarray:
    """All of these at once."""
    return heavy_tails(random, shape) + spikes(random, shape) + drift(random, shape)


MACHINES: dict[str, Noise] = {
    "quiet": quiet, "heavy tails": heavy_tails, "spikes": spikes, "drift": drift, "everything": everything,
}  # fmt: skip


def fails(logs: numpy.ndarray, most_rounds: int) -> tuple[bool, int]:
    """Whether any of the questions fails at any look, and the look after which the last one was settled."""
    looks = sequential.looks_until(most_rounds)
    error = sequential.level(len(logs), len(looks))
    failed, last = False, 0
    for question in logs:
        for look in looks:
            last = max(last, look)
            found = sequential.bounds(list(question[:look]), error)
            if found.low > MARGIN:
                failed = True
            if found.low > MARGIN or found.high <= MARGIN:
                break
    return failed, last


def trial(random: numpy.random.Generator, noise: Noise, rise: float, most_rounds: int) -> tuple[bool, int]:
    """One comparison; ``rise`` is a real change in the first question only."""
    logs = noise(random, (QUESTIONS, most_rounds, 2))
    ratios = logs[:, :, 1] - logs[:, :, 0]
    ratios[0] += math.log1p(rise)
    return fails(ratios, most_rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--rise", type=float, default=0.0, help="a real change, such as 0.25")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for name, noise in MACHINES.items():
        random = numpy.random.default_rng(options.seed)
        results = [trial(random, noise, options.rise, options.rounds) for _ in range(options.trials)]
        failed = sum(failure for failure, _ in results)
        settled = sorted(last for _, last in results)[len(results) // 2]
        print(
            f"{name:12} failed in {failed} of {options.trials} ({failed / options.trials:.2%}); median of last rounds {settled}"
        )


if __name__ == "__main__":
    main()

"""Which interval of what several machines say together is honest, and which test that they differ.

Simulates comparisons of a candidate that costs what the baseline does on the mean machine. On each
machine the logarithm of its ratio is off by a normal amount, and each round of it by another one.
Printed is, of 20,000 such comparisons, how often an interval of 95 % held the truth, and how often
a test at 5 % said that machines differ although they do not (only where they do not).

    PYTHONPATH=src:. .bench/venv/bin/python -m benchmarks.machine_intervals
"""

from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

TRIALS = 20_000
NOISES = {"alike": (0.1,), "unlike": (0.03, 0.1, 0.3, 0.1, 0.03)}
"""The deviation of a round on each machine; the last is repeated."""
BETWEENS = (0.0, 0.05, 0.2)
"""The deviation of machines."""


def main() -> None:
    """Prints the table."""
    source = np.random.default_rng(1)
    heading = ("machines", "rounds", "noise", "between", "DL, HK", "… max", "mean", "Q", "pairs")
    print("".join(f"{it:>9}" for it in heading))
    for machines, rounds, (name, noise), between in product(
        (2, 3, 5), (3, 5, 10), NOISES.items(), BETWEENS
    ):
        deviations = np.resize(np.array(noise), machines)
        means, variances = _simulated(source, deviations, rounds, between)
        cells = [f"{it:.3f}" for it in _coverage(means, variances)]
        cells += _alarms(means, variances, rounds) if between == 0 else ["", ""]
        print("".join(f"{it:>9}" for it in (machines, rounds, name, between, *cells)))


def _simulated(
    source: np.random.Generator, deviations: "Matrix", rounds: int, between: float
) -> tuple["Matrix", "Matrix"]:
    """The mean of each machine's rounds, and the variance of that; both (trials, machines)."""
    shape = (TRIALS, len(deviations))
    logs = source.normal(0, 1, (*shape, rounds)) * deviations[None, :, None]
    logs += source.normal(0, 1, shape)[:, :, None] * between
    return logs.mean(axis=2), logs.var(axis=2, ddof=1) / rounds


def _coverage(means: "Matrix", variances: "Matrix") -> list[float]:
    """DerSimonian and Laird with Hartung and Knapp, the same but never narrower, and the mean."""
    machines = means.shape[1]
    quantile = special.stdtrit(machines - 1, 0.975)
    excess = _cochran(means, variances) - (machines - 1)
    weights = 1 / variances
    total = weights.sum(axis=1)
    between = np.maximum(0, excess / (total - (weights**2).sum(axis=1) / total))
    weights = 1 / (variances + between[:, None])
    total = weights.sum(axis=1)
    centre = (weights * means).sum(axis=1) / total
    spread = (weights * (means - centre[:, None]) ** 2).sum(axis=1) / (machines - 1)
    half = quantile * np.sqrt(spread / total)
    half_at_least = quantile * np.sqrt(np.maximum(1, spread) / total)
    half_of_mean = quantile * means.std(axis=1, ddof=1) / np.sqrt(machines)
    return [
        float(np.mean(np.abs(centre) <= half)),
        float(np.mean(np.abs(centre) <= half_at_least)),
        float(np.mean(np.abs(means.mean(axis=1)) <= half_of_mean)),
    ]


def _alarms(means: "Matrix", variances: "Matrix", rounds: int) -> list[str]:
    """Cochran's Q with the variances taken for known; Welch's test of each pair, Bonferroni."""
    machines = means.shape[1]
    of_q = special.chdtrc(machines - 1, _cochran(means, variances))
    pairs = list(combinations(range(machines), 2))
    of_pairs = np.min([_welch(means, variances, rounds, *pair) for pair in pairs], axis=0)
    return [f"{np.mean(of_q < 0.05):.3f}", f"{np.mean(of_pairs * len(pairs) < 0.05):.3f}"]


def _cochran(means: "Matrix", variances: "Matrix") -> Any:
    weights = 1 / variances
    centre = (weights * means).sum(axis=1) / weights.sum(axis=1)
    return (weights * (means - centre[:, None]) ** 2).sum(axis=1)


def _welch(means: "Matrix", variances: "Matrix", rounds: int, one: int, other: int) -> Any:
    first, second = variances[:, one], variances[:, other]
    freedom = (first + second) ** 2 / ((first**2 + second**2) / (rounds - 1))
    distance = np.abs(means[:, one] - means[:, other]) / np.sqrt(first + second)
    return 2 * special.stdtr(freedom, -distance)


if __name__ == "__main__":
    main()

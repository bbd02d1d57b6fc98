"""Which interval of what several machines say together is honest, and which test that they differ.

Simulates comparisons of a candidate that costs what the baseline does on the mean machine. On each
machine the logarithm of its ratio is off by a normal amount, and each round of it by another one.
Printed is, of 20,000 such comparisons, how often an interval of 95 % held the truth, and how often
a test at 5 % said that machines differ although they do not (only where they do not).

Then, of machines whose gates stopped after different rounds and whose variances differ by up to
five times, the worst that each test did: at 5 %, and at the level of one ratio of 32, times 32.

    PYTHONPATH=src:. .bench/venv/bin/python -m benchmarks.machine_intervals
"""

from itertools import combinations, combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]
    Test = Callable[[Matrix, Matrix, Matrix], Any]

TRIALS = 20_000
NOISES = {"alike": (0.1,), "unlike": (0.03, 0.1, 0.3, 0.1, 0.03)}
"""The deviation of a round on each machine; the last is repeated."""
BETWEENS = (0.0, 0.05, 0.2)
"""The deviation of machines."""
STOPPED = (3, 10, 30)
"""Rounds after which gates stopped."""
VARIANCES = (1.0, 5.0)
RATIOS = 32
REPLICATES = 1_000
BOOTSTRAPPED = 2_000
"""So many comparisons of each kind are tested by the bootstrap, which takes long."""


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
    print()
    print("".join(f"{it:>14}" for it in ("machines", "test", "at 5 %", f"at 5 % / {RATIOS}")))
    tests: dict[str, Test] = {
        "fewer rounds": lambda *of: _of_pairs(_by_fewer, *of),
        "Welch, pairs": lambda *of: _of_pairs(_welch, *of),
        "Welch, all": _welch_of_all,
        "Alexander": _alexander_govern,
    }
    for machines in (2, 3, 4):
        worst = dict.fromkeys(tests, (0.0, 0.0))
        for kind in _stopped_apart(machines):
            sample = _sampled(source, *kind)
            for name, test in tests.items():
                worst[name] = _worse(worst[name], test(*sample))
        for name, (at, of_many) in worst.items():
            print(f"{machines:>14}{name:>14}{at:>14.3f}{of_many:>14.3f}")
    bootstrap = max(
        float(np.mean(_bootstrapped(source, *_sampled(source, *kind)) < 0.05))
        for kind in _stopped_apart(2)
    )
    print(f"{2:>14}{'bootstrap':>14}{bootstrap:>14.3f}")


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
    """Cochran's Q with the variances taken for known; the test of each pair, Bonferroni."""
    machines = means.shape[1]
    of_q = special.chdtrc(machines - 1, _cochran(means, variances))
    of_pairs = _of_pairs(_by_fewer, means, variances, np.full(machines, rounds - 1.0))
    return [f"{np.mean(of_q < 0.05):.3f}", f"{np.mean(of_pairs < 0.05):.3f}"]


def _cochran(means: "Matrix", variances: "Matrix") -> Any:
    weights = 1 / variances
    centre = (weights * means).sum(axis=1) / weights.sum(axis=1)
    return (weights * (means - centre[:, None]) ** 2).sum(axis=1)


def _stopped_apart(machines: int) -> list[tuple["Matrix", "Matrix"]]:
    """Degrees of freedom and the variances of a round, of each machine."""
    rounds = combinations_with_replacement(STOPPED, machines)
    return [
        (np.array(stopped) - 1.0, np.array(of_round))
        for stopped, of_round in product(rounds, product(VARIANCES, repeat=machines))
    ]


def _sampled(
    source: np.random.Generator, freedom: "Matrix", of_round: "Matrix"
) -> tuple["Matrix", "Matrix", "Matrix"]:
    """Means of normal rounds, their estimated variances, and the degrees of freedom of these."""
    shape, exact = (TRIALS, len(freedom)), of_round / (freedom + 1)
    means = source.normal(0, 1, shape) * np.sqrt(exact)
    return means, exact * source.chisquare(freedom, shape) / freedom, freedom


def _worse(worst: tuple[float, float], p_values: Any) -> tuple[float, float]:
    at, of_many = np.mean(p_values < 0.05), np.mean(p_values < 0.05 / RATIOS) * RATIOS
    return max(worst[0], float(at)), max(worst[1], float(of_many))


def _of_pairs(of_pair: "Test", means: "Matrix", variances: "Matrix", freedom: "Matrix") -> Any:
    """The least chance of any pair, times the number of pairs."""
    pairs = [list(pair) for pair in combinations(range(means.shape[1]), 2)]
    found = [of_pair(means[:, pair], variances[:, pair], freedom[pair]) for pair in pairs]
    return np.min(found, axis=0) * len(pairs)


def _by_fewer(means: "Matrix", variances: "Matrix", freedom: "Matrix") -> Any:
    """Of two machines, by the fewer degrees of freedom: what waitbench does."""
    return _two_sided(means, variances, freedom.min())


def _welch(means: "Matrix", variances: "Matrix", freedom: "Matrix") -> Any:
    return _two_sided(
        means, variances, variances.sum(axis=1) ** 2 / (variances**2 / freedom).sum(axis=1)
    )


def _two_sided(means: "Matrix", variances: "Matrix", freedom: Any) -> Any:
    distance = np.abs(means[:, 0] - means[:, 1]) / np.sqrt(variances.sum(axis=1))
    return 2 * special.stdtr(freedom, -distance)


def _welch_of_all(means: "Matrix", variances: "Matrix", freedom: "Matrix") -> Any:
    """B. Welch, "On the comparison of several mean values", Biometrika 38, 1951."""
    machines, weights = means.shape[1], 1 / variances
    doubt = ((1 - weights / weights.sum(axis=1, keepdims=True)) ** 2 / freedom).sum(axis=1)
    ratio = _cochran(means, variances) / (machines - 1)
    ratio /= 1 + 2 * (machines - 2) / (machines**2 - 1) * doubt
    return special.fdtrc(machines - 1, (machines**2 - 1) / (3 * doubt), ratio)


def _alexander_govern(means: "Matrix", variances: "Matrix", freedom: "Matrix") -> Any:
    """R. Alexander and D. Govern, Journal of Educational Statistics 19, 1994."""
    weights = 1 / variances
    centre = (weights * means).sum(axis=1) / weights.sum(axis=1)
    squared = (means - centre[:, None]) ** 2 / variances
    a = freedom - 0.5
    b, c = 48 * a**2, np.sqrt(a * np.log1p(squared / freedom))
    late = 4 * c**7 + 33 * c**5 + 240 * c**3 + 855 * c
    normal = c + (c**3 + 3 * c) / b - late / (10 * b**2 + 8 * b * c**4 + 1000 * b)
    return special.chdtrc(means.shape[1] - 1, (normal**2).sum(axis=1))


def _bootstrapped(
    source: np.random.Generator, means: "Matrix", variances: "Matrix", freedom: "Matrix"
) -> Any:
    """K. Krishnamoorthy and others, Computational Statistics & Data Analysis 51, 2007."""
    observed = _cochran(means, variances)
    found = np.empty(BOOTSTRAPPED)
    for trial in range(BOOTSTRAPPED):
        shape = (REPLICATES, len(freedom))
        made = source.normal(0, 1, shape) * np.sqrt(variances[trial])
        spread = variances[trial] * source.chisquare(freedom, shape) / freedom
        found[trial] = np.mean(_cochran(made, spread) >= observed[trial])
    return found


if __name__ == "__main__":
    main()

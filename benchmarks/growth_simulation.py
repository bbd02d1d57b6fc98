"""How often the shape of a curve is named rightly, of costs that are made up (analysis/growth.py).

    .bench/venv/bin/python benchmarks/growth_simulation.py [--trials 200]

Each cost is that of a scan of 16 to 4,096 inputs (6 values, 3 rounds; as the trial in
tests/commands/test_scanning.py) or of 1 to 4,096 (13 values, 5 rounds). Runs vary by so many
percent of themselves (the standard deviation), rounds as wholes by half as much. Of noise with
outliers each twentieth run costs up to twice as much; of a machine that drifts, what it does to a
run goes on into the next one (autocorrelation 0.9), in the order of measuring, which is turned each
round. A curve that mixes shapes within what noise hides may rightly be called a line; so the
doctored ones here are far off one: the square makes up 8 to 90 % of the cost at the largest value.
Kept output: docs/trials/growth-simulated.txt.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from benchmarks.common import command_line
from waitbench.analysis.growth import Shape, growth

Cost = Callable[[float], float]
SCANS = {
    "6 values, 3 rounds": ([16.0, 64.0, 256.0, 1024.0, 2048.0, 4096.0], 3),
    "13 values, 5 rounds": ([2.0**power for power in range(13)], 5),
}


def looks(per_pass: float, per_input: float, per_square: float, sleeps: float = 0.02) -> Cost:
    """A worker that looks at its inputs, and then sleeps for so long."""

    def cost(value: float) -> float:
        passes = (per_pass + per_input * value + per_square * value**2) / sleeps
        return passes / (1 + passes)

    return cost


COSTS: Mapping[str, tuple[Cost, Sequence[Shape]]] = {
    "constant": (lambda _: 0.03, [Shape.LINE]),
    "line": (lambda n: 0.02 + 5e-5 * n, [Shape.LINE]),
    "steep line": (lambda n: 0.002 + 2e-4 * n, [Shape.LINE]),
    "looks, then sleeps": (looks(4.4e-5, 1e-6, 0, 1e-3), [Shape.SATURATING]),
    "trial: sound": (looks(4e-5, 5e-8, 0), [Shape.LINE, Shape.SATURATING]),
    "trial: square": (looks(4e-5, 5e-8, 1e-10), [Shape.CURVE_UP]),
    "square, a fifth": (lambda n: 0.02 + 5e-5 * n + 3e-9 * n**2, [Shape.CURVE_UP]),
    "square, half": (lambda n: 0.02 + 5e-5 * n + 1.3e-8 * n**2, [Shape.CURVE_UP]),
    "square, nine tenths": (lambda n: 0.02 + 1e-5 * n + 4e-8 * n**2, [Shape.CURVE_UP]),
    "step at 1,024": (lambda n: 0.02 + 5e-6 * n + 0.1 * (n >= 1024), [Shape.STEP]),
    "wall": (lambda n: min(0.02 + 1e-3 * n, 1.0), [Shape.WALL, Shape.SATURATING]),
}
NOISES = {
    "3 %": (0.03, 0.0, 0.0),
    "7 %": (0.07, 0.0, 0.0),
    "15 %": (0.15, 0.0, 0.0),
    "7 %, outliers": (0.07, 0.05, 0.0),
    "7 %, drifts": (0.07, 0.0, 0.9),
    "15 %, drifts": (0.15, 0.0, 0.9),
}
"""Standard deviation of a run, the share of outliers, and the autocorrelation."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--trials", type=int, default=200)
    options = parser.parse_args()
    for scan, (values, rounds) in SCANS.items():
        print(f"\n{scan}, {options.trials} trials each: named rightly, and else, in %\n")
        for name, (cost, right) in COSTS.items():
            for noise in NOISES:
                seeds = range(options.trials)
                found = Counter(
                    growth(values, simulated(cost, values, rounds, noise, seed)).shape
                    for seed in seeds
                )
                print(describe(name, noise, found, right), flush=True)


def describe(name: str, noise: str, found: Counter[Shape], right: Sequence[Shape]) -> str:
    """One row."""
    total = found.total()
    hits = sum(found[shape] for shape in right)
    others = ", ".join(
        f"{shape.value} {count / total:.1%}"
        for shape, count in found.most_common()
        if shape not in right
    )
    return f"{name:20}  {noise:14}  {hits / total:6.1%}  {others}".rstrip()


def simulated(
    cost: Cost, values: Sequence[float], rounds: int, noise: str, seed: int
) -> list[list[float]]:
    """The costs of each round; nothing costs more than the core there is."""
    spread, outliers, goes_on = NOISES[noise]
    chance = random.Random(seed)
    drift = chance.gauss(0, spread)
    found = []
    for _ in range(rounds):
        level = 1 + chance.gauss(0, spread / 2)
        row = dict.fromkeys(values, 0.0)
        for value in chance.sample(values, len(values)):
            drift = goes_on * drift + chance.gauss(0, spread * (1 - goes_on**2) ** 0.5)
            factor = level * max(0.1, 1 + drift)
            if chance.random() < outliers:
                factor *= 1 + chance.random()
            row[value] = min(cost(value) * factor, 1.0)
        found.append([row[value] for value in values])
    return found


if __name__ == "__main__":
    main()

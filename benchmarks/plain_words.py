"""How often a comparison without a gate claims a change, where nothing changed, and where one did.

Simulates comparisons of eight scenarios, two of which mostly wait, on the machines of
``benchmarks.simulation``, and lets the real analysis say what it says. Printed is, of so many
comparisons, how often the summary said *slower* or *faster* of any scenario, and how often any
sentence claimed any change: by the interval of each ratio alone, and as they are said.

    PYTHONPATH=src:. .bench/venv/bin/python -m benchmarks.plain_words [--trials N] [--rounds N]
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy

from benchmarks.simulation import MACHINES, WAITING, Noise
from tests.records import make_record
from waitbench.analysis import statistics
from waitbench.analysis.statistics import SPOKEN_OF, Comparison, Estimate
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record
from waitbench.reporting import summary

SCENARIOS = 8
SPREADS = {"user": 0.1, "system": 0.2, "real": 0.05, "steady": 0.1, "latency": 0.3}
"""Standard deviation of the logarithm of a pair's ratio."""
CLAIMS = (Verdict.SLOWER, Verdict.FASTER)


def main() -> None:
    """Prints a line for each machine and rise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{options.trials} comparisons, {SCENARIOS} scenarios, {options.rounds} rounds; %")
    print(f"{'machine':<14}{'rise':>6}{'summary':>18}{'any sentence':>18}")
    for machine in ("quiet", "heavy tails", "spikes", "drift"):
        for rise in (0.0, 0.25, 1.0):
            counts = numpy.zeros(4)
            random = numpy.random.default_rng(1)
            for _ in range(options.trials):
                counts += _claims(random, MACHINES[machine], options.rounds, rise)
            alone, said, any_alone, any_said = 100 * counts / options.trials
            cells = f"{alone:>8.1f} →{said:>7.1f} {any_alone:>9.1f} →{any_said:>7.1f}"
            print(f"{machine:<14}{rise:>6.0%}{cells:>36}", flush=True)


def _claims(random: numpy.random.Generator, noise: Noise, rounds: int, rise: float) -> list[bool]:
    """What one comparison claims; the rise is of the first scenario's CPU."""
    records = [
        _record(random, noise, rounds, number, rise if number == 0 else 0.0)
        for number in range(SCENARIOS)
    ]
    said = statistics.compare_all(records)
    alone = [_alone(comparison) for comparison in said]
    return [_sums_up(alone), _sums_up(said), _speaks(alone), _speaks(said)]


def _record(
    random: numpy.random.Generator, noise: Noise, rounds: int, number: int, rise: float
) -> Record:
    logs = {
        name: spread / math.sqrt(2) * noise(random, (1, rounds, 2))[0]
        for name, spread in SPREADS.items()
    }
    for name in ("user", "steady"):
        logs[name][:, 1] += math.log1p(rise)
    runs = {
        label: [
            {
                BY_NAME[name].key: math.exp(values[place, side])
                for name, values in logs.items()
                if number in WAITING or name not in {"steady", "latency"}
            }
            for place in range(rounds)
        ]
        for side, label in enumerate(("old", "new"))
    }
    for of_label in runs.values():
        for run in of_label:
            run["time_cpu"] = run["time_user"] + 0.2 * run["time_system"]
    return make_record(runs, scenario=str(number), waits=number in WAITING)


def _alone(comparison: Comparison) -> Comparison:
    """The same, if each ratio's own interval decided what is said of it."""
    rows = tuple(
        replace(row, ratios={name: replace(it, is_clear=True) for name, it in row.ratios.items()})
        for row in comparison.rows
    )
    return replace(comparison, rows=rows)


def _sums_up(comparisons: Sequence[Comparison]) -> bool:
    (sentence,) = summary.sentences(comparisons)
    return any(f"{verdict.value} in" in sentence for verdict in CLAIMS)


def _speaks(comparisons: Sequence[Comparison]) -> bool:
    found: list[Estimate] = [
        ratio
        for comparison in comparisons
        for name, ratio in comparison.rows[1].ratios.items()
        if name in SPOKEN_OF
    ]
    return any(ratio.verdict in CLAIMS for ratio in found)


if __name__ == "__main__":
    main()

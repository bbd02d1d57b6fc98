"""How often the gate fails when nothing changed, and how soon it finds a change: simulated.

    .bench/venv/bin/python benchmarks/false_alarms.py [--trials 2000] [--rounds 30] [METRIC+PCT …]

Each trial is one comparison by the default criteria, looked at as the gate looks; simulation.py
says what is simulated. Without changes, twice: nothing changed, and the worst that may pass, where
every hypothesis rose by just its margin, so that every ``same`` is as wrong as every failure. With
changes such as ``steady+25``, one after the other, each in all scenarios that have the metric.
Kept output: docs/trials/simulated.txt, and simulated-rises.txt for ``--trials 500 wakeups+10
syscalls+10 steady+25 steady-system+50 cpu+25 steady+100``.

A line says how many comparisons failed, the median of the rounds after which they first did, which
part of all hypotheses was called the same, how often that was wrong (of the hypothesis that rose by
its margin or more and was most often called the same), and the median of the rounds until all were
settled. Every hypothesis is looked at until all are settled, also one that was settled long before:
the gate looks less often, and errs less.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median_high

import numpy
from numpy.typing import NDArray

from benchmarks.common import command_line
from benchmarks.simulation import MACHINES, Logs, ask, simulate
from waitbench.analysis import criteria, sequential

DEFAULTS = ask(criteria.DEFAULTS)
MARGINS: Logs = numpy.log1p([asked.margin for asked in DEFAULTS])


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What the gate said of one comparison."""

    failed_after: int | None
    """Rounds until the first failure."""
    same: NDArray[numpy.bool_]
    """Hypotheses that were called the same, or faster, at any look."""
    rounds: int
    """Until all were settled, or at the most."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("changes", nargs="*", metavar="METRIC+PCT")
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.trials} comparisons of {len(DEFAULTS)} hypotheses, {options.rounds} rounds")
    size = (options.trials, options.rounds)
    for change in options.changes:
        metric, _, percent = change.rpartition("+")
        _report(change, {metric: float(percent) / 100}, 0 * MARGINS, size, options.seed)
    if not options.changes:
        _report("nothing changed", {}, 0 * MARGINS, size, options.seed)
        _report("all rose by just their margins", {}, MARGINS, size, options.seed)


def decide(ratios: Logs) -> Trial:
    """What the gate says of the log ratios of one comparison, hypotheses × rounds."""
    looks = sequential.looks_until(ratios.shape[1])
    failed_after = None
    same, settled = numpy.zeros((2, len(ratios)), bool)
    for look in looks:
        errors = sequential.errors_at(look, len(ratios))
        found = [sequential.bounds(list(logs[:look]), errors) for logs in ratios]
        slower = numpy.array([bounds.low for bounds in found]) > MARGINS
        below = numpy.array([bounds.high for bounds in found]) <= MARGINS
        if failed_after is None and slower.any():
            failed_after = look
        same |= below
        settled |= below | slower
        if settled.all():
            break
    return Trial(failed_after=failed_after, same=same, rounds=look)


def _report(
    title: str, rises: Mapping[str, float], shifts: Logs, size: tuple[int, int], seed: int
) -> None:
    changes = numpy.log1p([rises.get(asked.metric, 0.0) for asked in DEFAULTS])
    rose = changes + shifts >= MARGINS
    print(f"\n{title:30} {'failed':>14} {'after':>6} {'same':>8} {'wrongly':>8} {'rounds':>7}")
    for name, noise in MACHINES.items():
        ratios = simulate(numpy.random.default_rng(seed), noise, DEFAULTS, size, rises)
        trials = [decide(logs) for logs in ratios + shifts[:, None]]
        after = [trial.failed_after for trial in trials if trial.failed_after is not None]
        failed = f"{len(after)} ({len(after) / len(trials):.2%})"
        same = numpy.mean([trial.same for trial in trials], axis=0)
        wrongly = f"{same[rose].max():.2%}" if rose.any() else "-"
        rounds = median_high(trial.rounds for trial in trials)
        print(
            f"{name:30} {failed:>14} {median_high(after) if after else '-':>6} "
            f"{same.mean():>8.2%} {wrongly:>8} {rounds:>7}"
        )


if __name__ == "__main__":
    main()

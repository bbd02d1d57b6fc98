"""How often a history claims a step that is not there, and finds one that is: simulated.

    .bench/venv/bin/python benchmarks/history_simulation.py [--series 200] [--revisions 100]
        [--machines 1]

A series is what ``track`` measures night after night: each revision beside the anchor and the
revision before it, five rounds, on a machine that is up to twice as fast or slow as the night
before, and of one of the five kinds of simulation.py by turns. Beyond that, each revision of each
night is off by 1 % (one standard deviation). Kept output: docs/trials/history-simulated.txt.

Beside our steps, of the same nights:

* the plain rule on absolute figures, as tools have it that draw them: the last value against the
  mean of the ten before, by more than 10, 20, 50 or 100 %;
* the same on the night's ratio to the anchor, which is what pairing alone gives.

With ``--machines`` the nights are on so many machines one after the other, each from a night on
that is drawn by lot, from the third on. Everywhere but on the first the anchor costs 15 % more or
less than it should, and each revision is off by 1 % (one standard deviation), in all nights on that
machine. Of these only our steps are shown, and those of them that are confirmed. Kept output:
docs/trials/history-machines.txt.

*Claimed* are the series in which anything is; of one step of 15 %, *placed* are those in which it
is at its revision or one off, and *beside* those in which anything else is claimed too.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy
from numpy.random import Generator, default_rng

from benchmarks.common import command_line
from benchmarks.simulation import MACHINES, SPREADS, Logs
from waitbench.analysis.network import Network, between_of, connected, join
from waitbench.analysis.sittings import sitting
from waitbench.analysis.trend import MARGIN, steps

ROUNDS = 5
SPREAD = SPREADS["steady"][0] / math.sqrt(2)
"""Standard deviation of the logarithm of one run on a quiet machine."""
DRIFT = math.log(2)
"""Of the machine's speed from night to night, up or down at most, as a logarithm."""
OFF = 0.01
"""Standard deviation of what a revision is off by in a night, as a logarithm."""
RISE = 0.15
ANCHOR_OFF = 0.15
"""What the anchor costs more or less on another machine, as a share."""
MACHINE_OFF = 0.01
"""Standard deviation of what another machine makes of each revision, as a logarithm."""
WINDOW = 10
OURS = "our steps"
CONFIRMED = "our steps, confirmed"
_WIDTH = 54


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--series", type=int, default=200)
    parser.add_argument("--revisions", type=int, default=100)
    parser.add_argument("--machines", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(" ".join(["benchmarks/history_simulation.py", *sys.argv[1:]]))
    print(
        f"{options.series} series of {options.revisions} revisions each; margin {MARGIN:.0%}; "
        f"a step of {RISE:.0%}"
    )
    work = partial(_tally, options.revisions, options.machines, options.seed)
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(work, range(options.series), chunksize=5))
    print(f"{'':{_WIDTH}} no change    one step of {RISE:.0%}")
    print(f"{'':{_WIDTH}}   claimed    placed    beside")
    for rule in found[0]:
        print(_line(rule, [tally[rule] for tally in found]))
        if rule in (OURS, CONFIRMED):
            for number, machine in enumerate(MACHINES):
                print(_line(f"  {machine}", [t[rule] for t in found[number :: len(MACHINES)]]))


Night = tuple[str, list[int], Logs]
"""Its machine, its revisions, and the logarithm of each run: shape (rounds, revisions)."""


def nights(random: Generator, machine: str, costs: Logs, machines: int = 1) -> Iterator[Night]:
    """The nights of a series, on so many machines one after the other."""
    # Whoever looks at one machine only draws nothing more.
    changes = random.choice(numpy.arange(3, len(costs)), machines - 1, replace=False)
    off = random.normal(0, MACHINE_OFF, (machines - 1, len(costs)))
    off[:, 0] = random.choice([-1, 1], machines - 1) * math.log1p(ANCHOR_OFF)
    for newest in range(1, len(costs)):
        held = sorted({0, newest - 1, newest})
        level = random.uniform(-DRIFT, DRIFT)
        host = int(numpy.sum(changes <= newest))
        truth = costs[held] + level + random.normal(0, OFF, len(held))
        if host:
            truth += off[host - 1][held]
        yield (
            f"m{host}",
            held,
            SPREAD * MACHINES[machine](random, (1, ROUNDS, len(held)))[0] + truth,
        )


def joined(measured: Sequence[Night]) -> Network:
    """The network of all nights."""
    found = [
        sitting(f"{night}", host, [f"r{one}" for one in held], runs.tolist())
        for night, (host, held, runs) in enumerate(measured)
    ]
    sittings = [one for one in found if one is not None]
    groups = connected(sittings)
    return join(groups, "r0", between_of(groups))


def plain(figures: Logs, least: float) -> list[int]:
    """Where a figure differs from the mean of the ten before it by more than a share."""
    values = numpy.exp(figures)
    return [
        at
        for at in range(WINDOW, len(values))
        if abs(values[at] / values[at - WINDOW : at].mean() - 1) > least
    ]


def ours(measured: Sequence[Night], revisions: int) -> dict[str, list[int]]:
    """The steps that we claim, and those of them that are confirmed."""
    found = steps(joined(measured), [f"r{number}" for number in range(revisions)])
    return {
        OURS: [int(step.after[1:]) for step in found],
        CONFIRMED: [int(step.after[1:]) for step in found if not step.provisional],
    }


def claims(measured: Sequence[Night], revisions: int) -> dict[str, list[int]]:
    """What each rule claims of the same nights."""
    # Of the first revision there is no night of its own.
    absolute = numpy.array([runs[:, -1].mean() for _, _, runs in measured])
    paired = numpy.array([(runs[:, -1] - runs[:, 0]).mean() for _, _, runs in measured])
    network, names = joined(measured), [f"r{number}" for number in range(revisions)]
    found = {OURS: [int(step.after[1:]) for step in steps(network, names)]}
    for name, figures in (("absolute", absolute), ("ratio to the anchor", paired)):
        for least in (0.1, 0.2, 0.5, 1.0):
            found[f"{name}, last against mean of ten, {least:.0%}"] = [
                1 + at for at in plain(figures, least)
            ]
    return found


def _line(title: str, tallies: Sequence[Counter[str]]) -> str:
    shares = (
        sum(tally[one] for tally in tallies) / len(tallies)
        for one in ("claimed", "placed", "beside")
    )
    return f"{title:{_WIDTH}}" + "".join(f"{share:10.1%}" for share in shares)


def _tally(revisions: int, machines: int, seed: int, number: int) -> dict[str, Counter[str]]:
    machine = list(MACHINES)[number % len(MACHINES)]
    random = default_rng([seed, number])
    find = claims if machines == 1 else ours
    nothing = find(list(nights(random, machine, numpy.zeros(revisions), machines)), revisions)
    place = int(random.integers(1, revisions))
    costs = numpy.where(numpy.arange(revisions) >= place, math.log1p(RISE), 0.0)
    risen = find(list(nights(random, machine, costs, machines)), revisions)
    tallies = {}
    for rule, claimed in nothing.items():
        near = [one for one in risen[rule] if abs(one - place) <= 1]
        tallies[rule] = Counter(
            claimed=bool(claimed), placed=bool(near), beside=len(risen[rule]) > bool(near)
        )
    return tallies


if __name__ == "__main__":
    main()

"""How often a search for a culprit is wrong, and how many rounds it takes: simulated.

    .bench/venv/bin/python benchmarks/bisect_simulation.py [--searches 2000] [--rounds 200]
        [--bimodal 0.4] [--history none]

Each search is over 256 commits, for a change beyond 10 % of the steady CPU of one scenario. A step
is measured in a sitting of its own, faster or slower than the one before by 20 %, on one of the
five machines of simulation.py: each has a fifth of a history's searches. Kept output:
docs/trials/bisect-simulated.txt.

With ``--bimodal`` the machine is another one, on which that share of the runs costs three times as
much, at random: *x 3*; or half as much again: *x 1.5*. Then there are no oracles. Kept output:
docs/trials/bisect-bimodal.txt.

*Right* is that all culprits are named and nothing else is; of none, that no change is proven; of a
ramp, that it is gradual; of commits that cannot be built, ranges that hold the culprit. *Wrong* is
a commit or a range that is named and has no change beyond the margin, and a culprit that the search
left out or called gradual although nothing was unclear any more. The rest is *open*: rounds ended.

The rounds are the mean of the searches that were right. Beside them are those of the two oracles of
bisect_oracle.py, and how many times theirs ours are.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy
from numpy.random import Generator, default_rng

from benchmarks import bisect_oracle as oracle
from benchmarks.bisect_oracle import MARGIN, POINTS, SPREAD
from benchmarks.common import command_line
from benchmarks.simulation import MACHINES, Logs, Noise, Shape, quiet
from waitbench.analysis.bisection import End, Kind, Search
from waitbench.analysis.bisection_steps import Says, answer

SITTING = 0.2
"""Standard deviation of the logarithm of the machine's speed from step to step."""


@dataclass(frozen=True, kw_only=True)
class History:
    """What commits really cost, as logarithms, and which of them cannot be built."""

    costs: Logs
    unbuildable: frozenset[int] = frozenset()

    @property
    def culprits(self) -> frozenset[int]:
        beyond = numpy.diff(self.costs) > math.log1p(MARGIN) + 1e-9
        return frozenset(int(point) + 1 for point in numpy.flatnonzero(beyond))


@dataclass(frozen=True, kw_only=True)
class Searched:
    """A search that ended, and the rounds of each of its steps."""

    search: Search
    rounds: Sequence[int]


@dataclass(kw_only=True)
class Tally:
    """What searches of one history on one machine came to."""

    outcomes: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    sure: int = 0
    bare: int = 0

    def add(self, other: "Tally") -> None:
        self.outcomes += other.outcomes
        self.rounds += other.rounds
        self.sure += other.sure
        self.bare += other.bare


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--searches", type=int, default=2000, help="of each history")
    parser.add_argument("--rounds", type=int, default=200, help="of a step, at the most")
    parser.add_argument("--bimodal", type=float, metavar="SHARE", help="on such machines only")
    parser.add_argument("--history", action="append", choices=list(_DRAWN), help="only these")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(" ".join(["benchmarks/bisect_simulation.py", *sys.argv[1:]]))
    print(f"{options.searches} searches over {POINTS} commits each, margin {MARGIN:.0%}")
    machines = MACHINES if options.bimodal is None else bimodal(options.bimodal)
    histories = options.history or list(HISTORIES)
    work = partial(_tally, options.searches // len(machines), options.rounds, options.seed)
    with ProcessPoolExecutor() as pool:
        asked = [(options.bimodal, *each) for each in product(histories, machines)]
        tallies = pool.map(work, *zip(*asked, strict=True))
        for title in histories:
            print(f"\n{title:26}   right    open   wrong  rounds            sure            bare")
            total = Tally()
            for machine in machines:
                tally = next(tallies)
                print(_line(machine, tally), flush=True)
                total.add(tally)
            print(_line("all", total), flush=True)


def bimodal(share: float) -> Mapping[str, Noise]:
    """Machines on which a share of the runs costs more by a factor."""

    def of(factor: float) -> Noise:
        def noise(random: Generator, shape: Shape) -> Logs:
            dear = numpy.where(random.random(shape) < share, math.log(factor) / SPREAD, 0.0)
            return numpy.add(quiet(random, shape), dear)

        return noise

    return {"x 3": of(3), "x 1.5": of(1.5)}


def search(random: Generator, noise: Noise, history: History, most_rounds: int) -> Searched:
    """Searches a history, measuring each step until it is answered or has had all its rounds."""
    so_far, rounds = Search.begin(points=len(history.costs), margin=MARGIN), []
    while step := so_far.next():
        missing = history.unbuildable.intersection(step.points)
        if missing:
            so_far = so_far.without(min(missing))
            continue
        truth = history.costs[list(step.points)] + random.normal(0, SITTING)
        runs = SPREAD * noise(random, (1, most_rounds, len(step.points)))[0] + truth
        said = answer(step, runs.tolist())
        so_far = so_far.answered(step, said)
        rounds.append(said.rounds)
    return Searched(search=so_far, rounds=rounds)


def outcome(history: History, ended: Search) -> str:
    """``right``, ``wrong`` or ``open``."""
    changed = history.costs[-1] - history.costs[0] > math.log1p(MARGIN) + 1e-9
    if ended.end is End.NO_CHANGE:
        if not changed:
            return "right"
        return "wrong" if ended.answers[0][1].says is Says.WITHIN else "open"
    parts = [(one.kind, frozenset(range(one.good + 1, one.bad + 1))) for one in ended.findings]
    named = [part for kind, part in parts if kind in (Kind.CULPRIT, Kind.RANGE)]
    gradual = [part for kind, part in parts if kind is Kind.GRADUAL]
    left_out = history.culprits.difference(*(part for _, part in parts))
    invented = any(part.isdisjoint(history.culprits) for part in named)
    overlooked = any(not part.isdisjoint(history.culprits) for part in gradual)
    if left_out or invented or overlooked or not changed:
        return "wrong"
    return "right" if len(named) + len(gradual) == len(parts) else "open"


def _culprits(*rises: tuple[int, float]) -> Logs:
    costs = numpy.zeros(POINTS)
    for point, rise in rises:
        costs[point:] += math.log1p(rise)
    return costs


def _one(rise: float) -> Callable[[Generator], History]:
    return lambda random: History(costs=_culprits((int(random.integers(1, POINTS)), rise)))


def _two(rise: float) -> Callable[[Generator], History]:
    def draw(random: Generator) -> History:
        points = random.choice(numpy.arange(1, POINTS), 2, replace=False)
        return History(costs=_culprits(*((int(point), rise) for point in points)))

    return draw


def _ramp(random: Generator) -> History:
    first = int(random.integers(1, POINTS - 64))
    return History(costs=_culprits(*((first + number, 0.01) for number in range(64))))


def _unbuildable(random: Generator) -> History:
    """The culprit is any of six that cannot be built, or the one behind them."""
    first = int(random.integers(1, POINTS - 7))
    culprit = first + int(random.integers(0, 7))
    return History(costs=_culprits((culprit, 0.25)), unbuildable=frozenset(range(first, first + 6)))


HISTORIES: Mapping[str, Callable[[Generator], History]] = {
    "one of +25 %": _one(0.25),
    "one of +15 %": _one(0.15),
    "two of +25 %": _two(0.25),
    "none": lambda _: History(costs=_culprits()),
    "a ramp of 64 times +1 %": _ramp,
    "+25 %, six cannot be built": _unbuildable,
    "one of just the margin": _one(MARGIN),
    "two just beyond it": _two(MARGIN + 0.001),
}

OF_TWO: Mapping[str, Callable[[Generator], History]] = {
    "two points, none": lambda _: History(costs=numpy.zeros(2)),
    "two points of +12 %": lambda _: History(costs=numpy.array([0.0, math.log1p(0.12)])),
}
"""Between neighbours; these are only simulated where they are asked for."""
_DRAWN: Mapping[str, Callable[[Generator], History]] = {**HISTORIES, **OF_TWO}


def _tally(
    searches: int, most_rounds: int, seed: int, share: float | None, title: str, machine: str
) -> Tally:
    machines = MACHINES if share is None else bimodal(share)
    random = default_rng([seed, list(_DRAWN).index(title), list(machines).index(machine)])
    tally = Tally()
    for _ in range(searches):
        history = _DRAWN[title](random)
        searched = search(random, machines[machine], history, most_rounds)
        said = outcome(history, searched.search)
        tally.outcomes[said] += 1
        if said == "right":
            tally.rounds += sum(searched.rounds)
            if share is None:
                _consult(tally, machine, history, searched.search, most_rounds)
    return tally


def _consult(tally: Tally, machine: str, history: History, ended: Search, most_rounds: int) -> None:
    """Adds what the oracles need for the same steps."""
    steps = [history.costs[list(step.points)] for step, _ in ended.answers]
    tally.sure += sum(min(most_rounds, oracle.sure(machine, costs)) for costs in steps)
    tally.bare += sum(min(most_rounds, oracle.bare(machine, costs)) for costs in steps)


def _line(title: str, tally: Tally) -> str:
    searches = tally.outcomes.total()
    shares = "".join(f"{tally.outcomes[one] / searches:8.2%}" for one in ("right", "open", "wrong"))
    right = tally.outcomes["right"]
    if not right:
        return f"{title:26}{shares}       -"
    oracles = "".join(
        f"{rounds / right:8.0f} ({tally.rounds / rounds:.2f} x)"
        for rounds in (tally.sure, tally.bare)
        if rounds
    )
    return f"{title:26}{shares}{tally.rounds / right:8.0f}{oracles}"


if __name__ == "__main__":
    main()

"""How often a history announces a change that is not there, and finds one that is: simulated.

    .bench/venv/bin/python -m benchmarks.features.history [--histories 100] [--nights 30]

A history is what ``track`` measures night after night: a new revision beside the anchor, and a
second session for each provisional change point; five rounds each. The machine is up to twice as
fast or slow as the night before. Every night announces what is confirmed. Output:
docs/trials/history-simulated.txt.

*False* are the histories, in which nothing changes, that announce anything. In others everything
costs 25 % more from the middle on: *found* are those that announce a rise within three sessions of
the first that measured it, *beside* those that announce anything else.
"""

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from numpy.random import Generator, default_rng

from benchmarks.common import command_line
from waitbench.features.history.sessions import HistoryRevision, HistorySession
from waitbench.features.history.track import due
from waitbench.features.history.trends import Announced, Trend, trends, unannounced
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Series

ROUNDS = 5
RISE = 0.25
Noise = Callable[[Generator, int], float]
"""The logarithm of what a run costs more, and a revision in a session where the number is 0."""


def normal(run: float, session: float) -> Noise:
    return lambda chance, number: chance.normal(0, run if number else session)


def heavy_tails(chance: Generator, number: int) -> float:
    return chance.standard_t(3) * (0.04 if number else 0.02)


def spikes(chance: Generator, number: int) -> float:
    """Every tenth run costs up to twice as much, and every twentieth revision of a session."""
    is_spike = chance.random() < (0.1 if number else 0.05)
    usual = chance.normal(0, 0.04 if number else 0.01)
    return usual + is_spike * chance.uniform(0, math.log(2) if number else 0.2)


MACHINES: dict[str, Noise] = {
    "quiet": normal(0.02, 0.007),
    "usual": normal(0.05, 0.02),
    "noisy": normal(0.15, 0.05),
    "heavy tails": heavy_tails,
    "spikes": spikes,
}
SERIES = Series.of("simulated", "single", {})


def entry(number: int) -> HistoryRevision:
    return HistoryRevision(name=f"v{number}", version=str(number), commit=None, date=None)


def session(chance: Generator, noise: Noise, logs: dict[int, float], number: int) -> HistorySession:
    """What one comparison tells of some revisions."""
    night = chance.uniform(-math.log(2), math.log(2))
    off = {revision: night + log + noise(chance, 0) for revision, log in logs.items()}
    rounds = [[log + noise(chance, 1) for log in off.values()] for _ in range(ROUNDS)]
    return HistorySession(
        folder=f"{number:04}", started=f"{number:04}", engine="", series=SERIES, machine="m",
        metric=BY_NAME["idle"],
        logs=dict(zip(map(entry, logs), zip(*rounds, strict=True), strict=True)),
    )  # fmt: skip


def announced(seed: int, noise: Noise, nights: int, rise: float) -> tuple[bool, bool]:
    """Whether a rise in the middle is announced in time, and whether anything else is."""
    chance, at = default_rng(seed), nights // 2
    cost = {number: rise * (number >= at) for number in range(nights + 1)}
    sessions: list[HistorySession] = []
    known: list[Announced] = []
    is_found = is_beside = False

    def measure(numbers: list[int]) -> None:
        logs = {number: cost[number] for number in numbers}
        sessions.append(session(chance, noise, logs, len(sessions)))

    def history() -> tuple[Trend, ...]:
        return trends(sessions, "v0")

    for newest in range(1, nights + 1):
        for revisions in due([f"v{newest}"], {f"v{n}" for n in range(newest)}, "v0", history()):
            measure([int(name[1:]) for name in revisions])
        after = sum(any(int(e.name[1:]) >= at for e in one.logs) for one in sessions)
        for trend, step in unannounced(history(), known):
            known.append(trend.announced(step))
            is_right = rise > 0 and step.is_rise and abs(int(step.after[1:]) - at) <= 1
            is_found |= is_right and after <= 3
            is_beside |= not is_right
    return is_found, is_beside


def of_machine(seed: int, machine: str, nights: int) -> tuple[bool, bool, bool]:
    """Whether one history announces anything where nothing changes; and the rise, and else."""
    _, is_false = announced(seed, MACHINES[machine], nights, 0.0)
    return is_false, *announced(seed, MACHINES[machine], nights, math.log1p(RISE))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--nights", type=int, default=30)
    given = parser.parse_args()
    print(f"{'machine':12}{'false':>7}{'found':>7}{'beside':>8}")
    with ProcessPoolExecutor() as pool:
        for name in MACHINES:
            one = partial(of_machine, machine=name, nights=given.nights)
            columns = zip(*pool.map(one, range(given.histories)), strict=True)
            false, found, beside = (sum(column) / given.histories for column in columns)
            print(f"{name:12}{false:7.0%}{found:7.0%}{beside:8.0%}", flush=True)


if __name__ == "__main__":
    main()

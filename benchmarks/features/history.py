"""Simulates how often a history announces a change falsely, and how often it finds a change.

    .bench/venv/bin/python -m benchmarks.features.history [--histories 100] [--nights 30]

Every night ``track`` compares a new revision with the anchor, and makes a second session for each
provisional change point, with five rounds each. The machine is up to twice as fast or slow each
night. Confirmed change points are announced every night. Output: docs/trials/history-simulated.txt.

*False*: the share of histories without a change that announce anything. In the others, costs rise
by 25 % in the middle. *Found*: the share that announces the rise within three sessions after its
first measurement. *Beside*: the share that announces anything else.
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
"""The noise of the logarithm of a cost: of a revision in a session (0), or of a run (1)."""


def normal(run: float, session: float) -> Noise:
    return lambda chance, number: chance.normal(0, run if number else session)


def heavy_tails(chance: Generator, number: int) -> float:
    return chance.standard_t(3) * (0.04 if number else 0.02)


def spikes(chance: Generator, number: int) -> float:
    """One run in ten costs up to twice as much; one revision of a session in 20, 22 % more."""
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
SERIES = Series("simulated", "single", "{}")


def revision(number: int) -> HistoryRevision:
    return HistoryRevision(name=f"v{number}", version=str(number), commit=None, date=None)


def session(chance: Generator, noise: Noise, logs: dict[int, float], number: int) -> HistorySession:
    """The session of a comparison; ``logs`` are the true log costs of its revisions."""
    night = chance.uniform(-math.log(2), math.log(2))
    levels = {it: night + log + noise(chance, 0) for it, log in logs.items()}
    rounds = [[log + noise(chance, 1) for log in levels.values()] for _ in range(ROUNDS)]
    return HistorySession(
        folder=f"{number:04}", started=f"{number:04}", engine="", series=SERIES, machine="m",
        metric=BY_NAME["idle"],
        logs=dict(zip(map(revision, logs), zip(*rounds, strict=True), strict=True)),
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
        after = sum(any(int(it.name[1:]) >= at for it in made.logs) for made in sessions)
        for trend, step in unannounced(history(), known):
            known.append(trend.announcement(step))
            is_right = rise > 0 and step.is_rise and abs(int(step.after[1:]) - at) <= 1
            is_found |= is_right and after <= 3
            is_beside |= not is_right
    return is_found, is_beside


def of_machine(seed: int, machine: str, nights: int) -> tuple[bool, bool, bool]:
    """Whether a history is *false*, *found* and *beside*: see the module."""
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
            simulate = partial(of_machine, machine=name, nights=given.nights)
            columns = zip(*pool.map(simulate, range(given.histories)), strict=True)
            false, found, beside = (sum(column) / given.histories for column in columns)
            print(f"{name:12}{false:7.0%}{found:7.0%}{beside:8.0%}", flush=True)


if __name__ == "__main__":
    main()

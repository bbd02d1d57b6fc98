"""Windows that are too short for what a worker does, of wake-ups that are made up."""

import random
from collections.abc import Callable, Sequence
from itertools import product

import pytest

from waitbench.analysis.window import is_too_short

WINDOW_S = 10.0
TRIALS = 200
Made = Callable[[random.Random], Sequence[float]]
"""When it wakes up."""


def bursts(each_s: float, wakeups: int = 8) -> Made:
    """So many wake-ups again and again, from a moment on that is different each time."""

    def times(chance: random.Random) -> list[float]:
        begin_s = chance.uniform(0, each_s)
        begins = [begin_s + number * each_s for number in range(int(WINDOW_S / each_s) + 1)]
        return [begin + chance.uniform(0, 0.02) for begin in begins for _ in range(wakeups)]

    return times


def single(rate: float) -> Made:
    """Wake-ups that come by chance, one by one."""

    def times(chance: random.Random) -> list[float]:
        found = [chance.expovariate(rate)]
        while found[-1] < WINDOW_S:
            found.append(found[-1] + chance.expovariate(rate))
        return found

    return times


def with_rare_bursts(chance: random.Random) -> list[float]:
    """A steady beat, and in one run of four a burst."""
    beat = bursts(0.1, 1)(chance)
    return [*beat, *[chance.uniform(3, 3.1)] * (300 if chance.random() < 0.25 else 0)]


def settling(chance: random.Random) -> list[float]:
    """Most of them at the beginning."""
    return [chance.expovariate(1 / 1.5) for _ in range(60)]


def of_run(times: Sequence[float]) -> list[dict[str, float]]:
    half_s = WINDOW_S / 2
    halves = [sum(from_s <= at < from_s + half_s for at in times) for from_s in (0, half_s)]
    return [{"time_s": half_s * n, "wakeups": float(one)} for n, one in enumerate(halves, 1)]


@pytest.mark.parametrize(
    ("made", "runs", "least", "most"),
    [
        # A single burst, and a worker that has not settled.
        *((bursts(9.0), runs, 0.6, 1.0) for runs in (1, 3, 5)),
        (bursts(9.5), 5, 0.9, 1.0),
        (settling, 3, 1.0, 1.0),
        # Four bursts or more.
        *(
            (bursts(each_s, wakeups), runs, 0.0, 0.0)
            for each_s, wakeups, runs in product((0.1, 0.3, 1.0, 2.0, 2.4), (1, 8), (1, 5))
        ),
        # What comes by chance, in all of the runs or in some.
        *((single(rate), 1, 0.0, 0.07) for rate in (0.1, 0.5, 1, 3, 10)),
        *((single(rate), 5, 0.0, 0.01) for rate in (0.1, 0.5, 1, 3, 10)),
        (with_rare_bursts, 10, 0.0, 0.02),
        (lambda _chance: [], 1, 0.0, 0.0),
    ],
)
def test_a_window_is_too_short_where_it_holds_one_burst_and_not_where_it_holds_four(
    made: Made, runs: int, least: float, most: float
) -> None:
    chances = (random.Random(seed) for seed in range(TRIALS))
    found = [is_too_short([of_run(made(one)) for _ in range(runs)]) is True for one in chances]
    assert least <= sum(found) / TRIALS <= most


def test_samples_of_other_things_say_nothing_of_wakeups() -> None:
    assert is_too_short([[{"taken_s": 0.1}, {"taken_s": 0.2}]]) is False
    assert is_too_short([(), ()]) is False

"""Windows that are too short for what a worker does, of wake-ups that are made up."""

import random
from collections.abc import Callable, Sequence

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
    found = [*bursts(0.1, 1)(chance)]
    if chance.random() < 0.25:
        found += [chance.uniform(3, 3.1)] * 300
    return found


def of_run(times: Sequence[float]) -> list[dict[str, float]]:
    half_s = WINDOW_S / 2
    within = [at for at in times if 0 <= at < WINDOW_S]
    first = sum(at < half_s for at in within)
    return [
        {"time_s": half_s, "wakeups": float(first)},
        {"time_s": WINDOW_S, "wakeups": float(len(within) - first)},
    ]


def share_too_short(made: Made, runs: int) -> float:
    """In which share of comparisons the window is called too short."""
    found = 0
    for seed in range(TRIALS):
        chance = random.Random(seed)
        found += is_too_short([of_run(made(chance)) for _ in range(runs)]) is True
    return found / TRIALS


@pytest.mark.parametrize("runs", [1, 3, 5])
def test_a_window_of_one_burst_is_too_short(runs: int) -> None:
    assert share_too_short(bursts(9.0), runs) > 0.6
    assert share_too_short(bursts(9.5), 5) > 0.9


@pytest.mark.parametrize("each_s", [0.1, 0.3, 1.0, 2.0, 2.4])
@pytest.mark.parametrize("wakeups", [1, 8])
def test_a_window_of_four_bursts_or_more_is_long_enough(each_s: float, wakeups: int) -> None:
    for runs in (1, 5):
        assert share_too_short(bursts(each_s, wakeups), runs) == 0


@pytest.mark.parametrize("rate", [0.1, 0.5, 1, 3, 10])
def test_wakeups_by_chance_are_seldom_called_too_few(rate: float) -> None:
    assert share_too_short(single(rate), 1) <= 0.07
    assert share_too_short(single(rate), 5) <= 0.01


def test_a_burst_by_chance_in_some_of_the_runs_says_nothing_of_the_window() -> None:
    assert share_too_short(with_rare_bursts, 10) <= 0.02


def test_a_worker_that_has_not_settled_needs_another_window() -> None:
    def settling(chance: random.Random) -> list[float]:
        return [chance.expovariate(1 / 1.5) for _ in range(60)]

    assert share_too_short(settling, 3) == 1


def test_no_wakeup_at_all_is_no_warning() -> None:
    assert is_too_short([of_run([])]) is False


def test_samples_of_other_things_say_nothing_of_wakeups() -> None:
    assert is_too_short([[{"taken_s": 0.1}, {"taken_s": 0.2}]]) is None
    assert is_too_short([(), ()]) is None

"""The rhythm in which a worker wakes up, of series that are made up."""

import random
from collections.abc import Callable, Sequence

import pytest

from waitbench.analysis.rhythm import ENOUGH, Rhythm, rhythm_of

LOOKS, WINDOW_S = 40, 10.0
Made = Callable[[random.Random, float], Sequence[float]]


def beat(each_s: float, wakeups: int = 1, *, within_s: float = 0.0, jitter_s: float = 0.0) -> Made:
    """Bursts of so many wake-ups, again and again, from a moment on that is different each time."""

    def times(chance: random.Random, window_s: float) -> list[float]:
        begun_s = chance.uniform(0, each_s)
        return [
            begun_s + number * each_s + chance.gauss(0, jitter_s) + chance.uniform(0, within_s)
            for number in range(int(window_s / each_s) + 1)
            for _ in range(wakeups)
        ]

    return times


def poisson(rate: float) -> Made:
    def times(chance: random.Random, window_s: float) -> list[float]:
        found = [chance.expovariate(rate)]
        while found[-1] < window_s:
            found.append(found[-1] + chance.expovariate(rate))
        return found

    return times


def both(*parts: Made) -> Made:
    return lambda chance, window_s: [at for part in parts for at in part(chance, window_s)]


def clustered(chance: random.Random, window_s: float) -> list[float]:
    """Bursts that come by chance."""
    begins = poisson(0.6)(chance, window_s)
    return [begun + chance.uniform(0, 0.3) for begun in begins for _ in range(10)]


def settling(chance: random.Random, _window_s: float) -> list[float]:
    """Less and less."""
    return [chance.expovariate(1 / 1.5) for _ in range(60)]


def found(
    made: Made, *, window_s: float = WINDOW_S, looks: int = LOOKS, runs: int = 5, seed: int = 1
) -> Rhythm:
    chance = random.Random(seed)
    counts = []
    for _ in range(runs):
        of_run = [0.0] * looks
        for at in made(chance, window_s):
            if 0 <= at < window_s:
                of_run[int(at / window_s * looks)] += 1
        counts.append(
            [
                {"time_s": (at + 1) / looks * window_s, "wakeups": count}
                for at, count in enumerate(of_run)
            ]
        )
    rhythm = rhythm_of(counts)
    assert rhythm is not None
    return rhythm


@pytest.mark.parametrize("runs", [1, 5])
@pytest.mark.parametrize("period_s", [2.2, 2.5, 3.0])
def test_bursts_that_come_regularly_have_their_period(period_s: float, runs: int) -> None:
    rhythm = found(beat(period_s, 8, within_s=0.05, jitter_s=0.01), runs=runs)
    assert rhythm.period_s == pytest.approx(period_s, rel=0.03)
    assert not rhythm.is_short


def test_single_wakeups_have_a_period_too() -> None:
    assert found(beat(2.5), runs=2).period_s == pytest.approx(2.5, rel=0.03)


@pytest.mark.parametrize("period_s", [4.0, 4.9])
def test_a_window_of_less_than_three_periods_is_short(period_s: float) -> None:
    rhythm = found(beat(period_s, 8, within_s=0.05, jitter_s=0.01))
    assert rhythm.period_s == pytest.approx(period_s, rel=0.03)
    assert rhythm.is_short
    assert ENOUGH * period_s - 0.5 <= rhythm.enough_s <= ENOUGH * period_s + 1


def test_of_five_seconds_two_periods_are_too_few_and_six_would_do() -> None:
    rhythm = found(beat(2.0, 8, within_s=0.02), window_s=5.0)
    assert (rhythm.is_short, rhythm.enough_s) == (True, 6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rate", [3.3, 5, 7, 9.1, 10, 10.5, 10.9, 11, 13, 19, 21, 100, 1000])
def test_a_steady_beat_that_is_faster_than_the_looks_is_neither_told_nor_warned_of(
    rate: float, seed: int
) -> None:
    for runs in (1, 5):
        rhythm = found(beat(1 / rate, jitter_s=5e-4), runs=runs, seed=seed)
        assert (rhythm.period_s, rhythm.bursts, rhythm.is_short) == (None, None, False)


@pytest.mark.parametrize("runs", [1, 5, 12])
@pytest.mark.parametrize("window_s", [2.0, 3.0, 5.0])
def test_a_steady_beat_has_no_period_of_several_of_its_wakeups(window_s: float, runs: int) -> None:
    # Two runs of a window have five and six wake-ups of such a beat: three times its period fits.
    for seed in range(10):
        rhythm = found(beat(0.5, jitter_s=1e-3), window_s=window_s, runs=runs, seed=seed)
        assert rhythm.period_s is None or rhythm.period_s == pytest.approx(0.5, rel=0.05)
        assert not rhythm.is_short


def uneven(each_s: float) -> Made:
    """A burst each so many seconds, of one to five wake-ups."""

    def times(chance: random.Random, window_s: float) -> list[float]:
        bursts = beat(each_s)(chance, window_s)
        return [at + number * 0.005 for at in bursts for number in range(chance.randint(1, 5))]

    return times


@pytest.mark.parametrize(("runs", "series"), [(1, 100), (5, 20)])
@pytest.mark.parametrize(
    ("made", "window_s"),
    [
        (beat(0.5, jitter_s=0.005), 10.0),
        (beat(0.5, 3, within_s=0.02), 5.0),
        (uneven(1.0), 10.0),
        (uneven(0.5), 5.0),
        (uneven(1.75), 10.0),
    ],
)
def test_what_comes_more_often_than_every_eighth_look_has_no_period(
    made: Made, window_s: float, runs: int, series: int
) -> None:
    rhythms = [found(made, window_s=window_s, runs=runs, seed=seed) for seed in range(series)]
    assert [one.period_s for one in rhythms if one.period_s is not None] == []
    assert not any(one.is_short for one in rhythms)


@pytest.mark.parametrize("runs", [1, 5])
@pytest.mark.parametrize("each_s", [2.0, 2.3, 3.0])
def test_uneven_bursts_have_no_period_of_several_of_them(each_s: float, runs: int) -> None:
    for seed in range(20):
        period_s = found(uneven(each_s), runs=runs, seed=seed).period_s
        assert period_s is None or period_s == pytest.approx(each_s, rel=0.05)


@pytest.mark.parametrize("made", [*map(poisson, (1, 3, 10, 50)), clustered, settling])
def test_chance_has_no_period(made: Made) -> None:
    told = sum(found(made, seed=seed).period_s is not None for seed in range(30))
    assert told <= 2  # of 30, one in a hundred each


def test_of_two_periods_the_longer_is_what_the_window_must_hold() -> None:
    made = both(beat(0.1, jitter_s=1e-3), beat(2.0, 8, within_s=0.05))
    assert found(made).period_s == pytest.approx(2.0, rel=0.03)


@pytest.mark.parametrize("faster_s", [0.5, 0.7, 1.0])
def test_bursts_among_others_that_come_more_often_have_no_period(faster_s: float) -> None:
    rhythm = found(both(beat(faster_s, 3, within_s=0.01), beat(2.0, 20, within_s=0.05)))
    assert (rhythm.period_s, rhythm.is_short) == (None, False)


@pytest.mark.parametrize("period_s", [6.0, 9.0])
def test_one_burst_or_two_do_not_tell_whether_they_come_again(period_s: float) -> None:
    rhythm = found(beat(period_s, 8, within_s=0.05))
    assert rhythm.period_s is None
    assert rhythm.bursts in (1, 2)
    assert rhythm.is_short
    assert rhythm.enough_s > WINDOW_S


def test_no_wakeup_at_all_is_no_burst_and_no_warning() -> None:
    rhythm = found(lambda _chance, _window_s: [])
    assert (rhythm.period_s, rhythm.bursts, rhythm.is_short) == (None, 0, False)


def test_it_is_of_samples_of_wakeups_and_of_no_others() -> None:
    run = [{"time_s": (at + 1) / 10, "wakeups": float(at % 20 == 3)} for at in range(100)]
    rhythm = rhythm_of([run])
    assert rhythm is not None
    assert rhythm.window_s == 10.0
    assert rhythm.period_s == pytest.approx(2.0, rel=0.03)
    assert rhythm_of([[{"taken_s": 0.1}]]) is None
    assert rhythm_of([(), ()]) is None
    few = rhythm_of([run[:5]])
    assert few is not None
    assert (few.period_s, few.bursts) == (None, None), "too few looks tell nothing"

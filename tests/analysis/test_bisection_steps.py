"""Single steps: what rounds of two or three points say."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waitbench.analysis import bisection, sequential
from waitbench.analysis.bisection import Step, StepVerdict

ENDS = Step(number=0, points=(0, 9), margin=0.1, faster=False, share=0.1)
SPLIT = replace(ENDS, number=1, points=(0, 4, 9))


def logs(*ratios: float) -> list[float]:
    """What points cost that have these ratios to the first."""
    return [0.0, *map(math.log, ratios)]


def noisy(truth: Sequence[float], rounds: int, spread: float, seed: int = 1) -> list[list[float]]:
    """Rounds at a speed of the machine that is never the same."""
    noise = random.Random(seed)
    return [
        [cost + speed + noise.gauss(0, spread) for cost in truth]
        for speed in (noise.gauss(0, 1) for _ in range(rounds))
    ]


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (1.11, StepVerdict.CHANGED),
        (1.09, StepVerdict.WITHIN),
        (1.0, StepVerdict.WITHIN),
        (0.5, StepVerdict.WITHIN),
    ],
)
def test_two_points_changed_or_are_within_the_margin(ratio: float, verdict: StepVerdict) -> None:
    assert bisection.answer(ENDS, [logs(ratio)] * 6).verdict is verdict
    # A fall is the mirror image.
    falling = replace(ENDS, faster=True)
    assert bisection.answer(falling, [logs(1 / ratio)] * 6).verdict is verdict


@pytest.mark.parametrize(
    ("middle", "bad", "verdict"),
    [
        (1.0, 1.25, StepVerdict.LIKE_GOOD),
        (1.05, 1.3, StepVerdict.LIKE_GOOD),
        (0.8, 1.25, StepVerdict.LIKE_GOOD),
        (1.25, 1.25, StepVerdict.LIKE_BAD),
        (1.25, 1.3, StepVerdict.LIKE_BAD),
        (1.25, 1.0, StepVerdict.LIKE_BAD),
        (1.25, 1.5625, StepVerdict.LIKE_GOOD),
        (1.08, 1.16, StepVerdict.WITHIN),
        (1.0, 1.0, StepVerdict.WITHIN),
    ],
)
def test_a_middle_is_like_good_or_like_bad(middle: float, bad: float, verdict: StepVerdict) -> None:
    assert bisection.answer(SPLIT, [logs(middle, bad)] * 6).verdict is verdict
    falling = replace(SPLIT, faster=True)
    assert bisection.answer(falling, [logs(1 / middle, 1 / bad)] * 6).verdict is verdict


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_is_not_changed_by_what_follows(seed: int) -> None:
    rounds = noisy(logs(1.0, 1.25), 100, 0.05, seed)
    whole = bisection.answer(SPLIT, rounds)
    assert whole.verdict is StepVerdict.LIKE_GOOD
    assert whole.rounds < 80
    assert bisection.answer(SPLIT, rounds[: whole.rounds]) == whole
    for count in range(whole.rounds):
        assert bisection.answer(SPLIT, rounds[:count]).verdict is StepVerdict.INCONCLUSIVE


@given(st.lists(st.floats(-50, 50), min_size=6, max_size=6))
def test_the_speed_of_a_round_does_not_matter(speeds: list[float]) -> None:
    rounds = [[cost + speed for cost in logs(1.0, 1.25)] for speed in speeds]
    assert bisection.answer(SPLIT, rounds).verdict is StepVerdict.LIKE_GOOD


def test_fewer_rounds_than_the_first_look_say_nothing() -> None:
    said = bisection.answer(ENDS, [logs(2.0)] * 5)
    assert (said.verdict, said.rounds, said.changes) == (StepVerdict.INCONCLUSIVE, 0, ())


def test_noise_asks_for_more_rounds() -> None:
    rounds = noisy(logs(1.25), 100, 0.07)
    assert bisection.answer(ENDS, rounds[:8]).verdict is StepVerdict.INCONCLUSIVE
    assert bisection.answer(ENDS, rounds).verdict is StepVerdict.CHANGED


def test_changes_are_those_of_the_whole_and_of_both_halves() -> None:
    said = bisection.answer(SPLIT, noisy(logs(1.0, 1.25), 100, 0.07))
    assert said.verdict is StepVerdict.LIKE_GOOD
    whole, first, second = said.changes
    assert [(one.good, one.bad) for one in said.changes] == [(0, 9), (0, 4), (4, 9)]
    assert whole.ratio == pytest.approx(1.25, rel=0.1)
    assert first.low < first.ratio < first.high
    assert second.low < second.ratio < second.high
    assert first.within or second.beyond


def test_a_fall_is_told_as_it_is() -> None:
    (change,) = bisection.answer(replace(ENDS, faster=True), noisy(logs(0.5), 30, 0.03)).changes
    assert change.low < change.ratio < change.high < 1 / 1.1
    assert change.ratio == pytest.approx(0.5, rel=0.1)
    assert change.beyond


@pytest.mark.parametrize("faster", [False, True])
def test_what_would_have_been_found_is_found_nineteen_times_of_twenty(faster: bool) -> None:
    step = replace(ENDS, faster=faster)
    (change,) = bisection.answer(step, noisy(logs(1.0), 6, 0.07)).changes
    rise = 1 + change.detectable
    assert rise > 1.1
    truth = logs(1 / rise if faster else rise)
    found = [
        bisection.answer(step, noisy(truth, 6, 0.07, seed)).verdict is StepVerdict.CHANGED
        for seed in range(200)
    ]
    assert sum(found) >= 180


def test_both_halves_together_err_as_seldom_as_two_points() -> None:
    # The same rounds: the bounds of a half have half the error of those of two points.
    rounds = noisy(logs(1.0, 1.0), 6, 0.05)
    (two,) = bisection.answer(ENDS, [[one[0], one[2]] for one in rounds]).changes
    whole, *_ = bisection.answer(SPLIT, rounds).changes
    each = sequential.ALPHA * SPLIT.share * sequential.share(6, first=6)
    paired = [one[2] - one[0] for one in rounds]
    for change, error in ((two, each), (whole, each / 2)):
        bounds = sequential.bounds(paired, sequential.Errors(alarm=error, clear=error))
        assert math.log(change.high) == pytest.approx(bounds.high)
        assert math.log(change.low) == pytest.approx(bounds.low)


@pytest.mark.parametrize(("disturbed", "enough"), [(3, 6), (4, 8)])
def test_nothing_is_said_while_most_rounds_are_disturbed(disturbed: int, enough: int) -> None:
    marks = [True] * disturbed + [False] * 4
    for rounds in (6, 8):
        said = bisection.answer(ENDS, [logs(2.0)] * rounds, marks[:rounds])
        assert (said.verdict is StepVerdict.CHANGED) == (rounds >= enough)
        assert said.rounds == min(rounds, enough)
        assert said.is_disturbed is (rounds < enough)


def test_what_one_look_was_certain_of_stands_at_the_next() -> None:
    calm, wild = noisy(logs(1.1), 6, 0.02), noisy(logs(1.1), 2, 0.5)
    (before,) = bisection.answer(ENDS, calm).changes
    last = bisection.answer(ENDS, calm + wild)
    (after,) = last.changes
    assert (last.verdict, last.rounds) == (StepVerdict.INCONCLUSIVE, 8)
    assert (after.low, after.high) == (before.low, before.high)


@pytest.mark.parametrize(
    ("rise", "wrong"), [(0.0, StepVerdict.CHANGED), (0.12, StepVerdict.WITHIN)]
)
@pytest.mark.parametrize("factor", [3.0, 1.5])
def test_two_modes_of_a_machine_mislead_as_seldom_as_a_step_may(
    factor: float, rise: float, wrong: StepVerdict
) -> None:
    # 40 % of the runs cost more. Three rounds may all have the same run of the two dear.
    noise, misled = random.Random(1), 0
    for _ in range(1000):
        rounds = [
            [
                cost + noise.gauss(0, 0.01) + math.log(factor) * (noise.random() < 0.4)
                for cost in logs(1 + rise)
            ]
            for _ in range(12)
        ]
        misled += bisection.answer(ENDS, rounds).verdict is wrong
    assert misled / 1000 <= sequential.ALPHA * ENDS.share

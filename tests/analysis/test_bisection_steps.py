"""Single steps: what rounds of two or three points say."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waitbench.analysis import bisection_steps, sequential
from waitbench.analysis.bisection_steps import Question, Step, StepVerdict

ENDS = Step(
    number=0, question=Question.ENDPOINTS, points=(0, 9), margin=0.1, faster=False, share=0.1
)
SPLIT = replace(ENDS, number=1, question=Question.SPLIT, points=(0, 4, 9))


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
    ("ratio", "says"),
    [
        (1.11, StepVerdict.CHANGED),
        (1.09, StepVerdict.WITHIN),
        (1.0, StepVerdict.WITHIN),
        (0.5, StepVerdict.WITHIN),
    ],
)
def test_two_points_changed_or_are_within_the_margin(ratio: float, says: StepVerdict) -> None:
    assert bisection_steps.answer(ENDS, [logs(ratio)] * 6).says is says
    # A fall is the mirror image.
    falling = replace(ENDS, faster=True)
    assert bisection_steps.answer(falling, [logs(1 / ratio)] * 6).says is says


@pytest.mark.parametrize(
    ("middle", "bad", "says"),
    [
        (1.0, 1.25, StepVerdict.LIKE_GOOD),
        (1.05, 1.3, StepVerdict.LIKE_GOOD),
        (0.8, 1.25, StepVerdict.LIKE_GOOD),
        (1.25, 1.25, StepVerdict.LIKE_BAD),
        (1.25, 1.3, StepVerdict.LIKE_BAD),
        (1.25, 1.0, StepVerdict.LIKE_BAD),
        (1.25, 1.5625, StepVerdict.BETWEEN),
        (1.08, 1.16, StepVerdict.WITHIN),
        (1.0, 1.0, StepVerdict.WITHIN),
    ],
)
def test_a_middle_is_like_good_like_bad_or_between(
    middle: float, bad: float, says: StepVerdict
) -> None:
    assert bisection_steps.answer(SPLIT, [logs(middle, bad)] * 6).says is says
    falling = replace(SPLIT, faster=True)
    assert bisection_steps.answer(falling, [logs(1 / middle, 1 / bad)] * 6).says is says


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_is_not_changed_by_what_follows(seed: int) -> None:
    rounds = noisy(logs(1.0, 1.25), 100, 0.05, seed)
    whole = bisection_steps.answer(SPLIT, rounds)
    assert whole.says is StepVerdict.LIKE_GOOD
    assert whole.rounds < 80
    assert bisection_steps.answer(SPLIT, rounds[: whole.rounds]) == whole
    for count in range(whole.rounds):
        assert bisection_steps.answer(SPLIT, rounds[:count]).says is StepVerdict.INCONCLUSIVE


def test_halves_that_cannot_be_told_from_the_margin_both_go_on() -> None:
    said = bisection_steps.answer(SPLIT, noisy(logs(1.1, 1.21), 100, 0.05))
    assert said.says is StepVerdict.BETWEEN
    assert not any(half.within or half.beyond for half in said.changes[1:])


@given(st.lists(st.floats(-50, 50), min_size=6, max_size=6))
def test_the_speed_of_a_round_does_not_matter(speeds: list[float]) -> None:
    rounds = [[cost + speed for cost in logs(1.0, 1.25)] for speed in speeds]
    assert bisection_steps.answer(SPLIT, rounds).says is StepVerdict.LIKE_GOOD


def test_fewer_rounds_than_the_first_look_say_nothing() -> None:
    said = bisection_steps.answer(ENDS, [logs(2.0)] * 5)
    assert (said.says, said.rounds, said.changes) == (StepVerdict.INCONCLUSIVE, 0, ())


def test_noise_asks_for_more_rounds() -> None:
    rounds = noisy(logs(1.25), 100, 0.07)
    assert bisection_steps.answer(ENDS, rounds[:8]).says is StepVerdict.INCONCLUSIVE
    assert bisection_steps.answer(ENDS, rounds).says is StepVerdict.CHANGED


def test_changes_are_those_of_the_whole_and_of_both_halves() -> None:
    said = bisection_steps.answer(SPLIT, noisy(logs(1.0, 1.25), 100, 0.07))
    assert said.says is StepVerdict.LIKE_GOOD
    whole, first, second = said.changes
    assert [(one.good, one.bad) for one in said.changes] == [(0, 9), (0, 4), (4, 9)]
    assert whole.ratio == pytest.approx(1.25, rel=0.1)
    assert first.low < first.ratio < first.high < 1.1
    assert first.within
    assert 1.0 < second.low < second.ratio < second.high


def test_a_fall_is_told_as_it_is() -> None:
    (change,) = bisection_steps.answer(
        replace(ENDS, faster=True), noisy(logs(0.5), 30, 0.03)
    ).changes
    assert change.low < change.ratio < change.high < 1 / 1.1
    assert change.ratio == pytest.approx(0.5, rel=0.1)
    assert change.beyond


@pytest.mark.parametrize("faster", [False, True])
def test_what_would_have_been_found_is_found_nineteen_times_of_twenty(faster: bool) -> None:
    step = replace(ENDS, faster=faster)
    (change,) = bisection_steps.answer(step, noisy(logs(1.0), 6, 0.07)).changes
    rise = 1 + change.would_have_found
    assert rise > 1.1
    truth = logs(1 / rise if faster else rise)
    found = [
        bisection_steps.answer(step, noisy(truth, 6, 0.07, seed)).says is StepVerdict.CHANGED
        for seed in range(200)
    ]
    assert sum(found) >= 180


@pytest.mark.parametrize("points", [2, 3, 64, 256, 1000])
def test_the_shares_of_all_steps_add_up_to_the_whole_at_most(points: int) -> None:
    shares = [bisection_steps.share(number, points) for number in range(100 * points)]
    assert math.fsum(shares) <= 1 + 1e-9
    one_culprit = math.ceil(math.log2(points)) + 2
    assert math.fsum(shares[:one_culprit]) == pytest.approx(0.8)
    assert len(set(shares[:one_culprit])) == 1
    assert shares[one_culprit] == pytest.approx(shares[0] / 5)


def test_both_halves_together_err_as_seldom_as_two_points() -> None:
    # The same rounds: the bounds of a half have half the error of those of two points.
    rounds = noisy(logs(1.0, 1.0), 6, 0.05)
    (two,) = bisection_steps.answer(ENDS, [[one[0], one[2]] for one in rounds]).changes
    whole, *_ = bisection_steps.answer(SPLIT, rounds).changes
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
        said = bisection_steps.answer(ENDS, [logs(2.0)] * rounds, marks[:rounds])
        assert (said.says is StepVerdict.CHANGED) == (rounds >= enough)
        assert said.rounds == min(rounds, enough)
        assert said.is_disturbed is (rounds < enough)


def test_what_one_look_was_certain_of_stands_at_the_next() -> None:
    calm, wild = noisy(logs(1.1), 6, 0.02), noisy(logs(1.1), 2, 0.5)
    (before,) = bisection_steps.answer(ENDS, calm).changes
    last = bisection_steps.answer(ENDS, calm + wild)
    (after,) = last.changes
    assert (last.says, last.rounds) == (StepVerdict.INCONCLUSIVE, 8)
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
        misled += bisection_steps.answer(ENDS, rounds).says is wrong
    assert misled / 1000 <= sequential.ALPHA * ENDS.share

"""Single steps: what rounds of two or three points say."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.searched import begun, judged
from waitbench.analysis import bisection, rule
from waitbench.analysis.bisection import Step, StepVerdict, judge


def answer(
    rounds: Sequence[Sequence[float]], disturbed: Sequence[bool] = (), *, faster: bool = False
) -> Step:
    """What rounds say of two points, or of three, of a search that shares its error over ten."""
    search = begun(256, faster=faster)
    return judged(search, (0, 9) if len(rounds[0]) == 2 else (0, 4, 9), rounds, disturbed)


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
    assert answer([logs(ratio)] * 15).verdict is verdict
    # A fall is the mirror image.
    assert answer([logs(1 / ratio)] * 15, faster=True).verdict is verdict


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
    assert answer([logs(middle, bad)] * 15).verdict is verdict
    assert answer([logs(1 / middle, 1 / bad)] * 15, faster=True).verdict is verdict


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_is_not_changed_by_what_follows(seed: int) -> None:
    rounds = noisy(logs(1.0, 1.25), 30, 0.05, seed)
    whole = answer(rounds)
    assert whole.verdict is StepVerdict.LIKE_GOOD
    assert whole.rounds < 30
    assert answer(rounds[: whole.rounds]) == whole
    for count in range(1, whole.rounds):
        assert answer(rounds[:count]).verdict is StepVerdict.INCONCLUSIVE


@given(st.lists(st.floats(-50, 50), min_size=15, max_size=15))
def test_the_speed_of_a_round_does_not_matter(speeds: list[float]) -> None:
    rounds = [[cost + speed for cost in logs(1.0, 1.25)] for speed in speeds]
    assert answer(rounds).verdict is StepVerdict.LIKE_GOOD


def test_fewer_rounds_than_the_first_look_say_nothing() -> None:
    said = answer([logs(2.0)] * 9)
    assert (said.verdict, said.rounds, said.changes) == (StepVerdict.INCONCLUSIVE, 0, ())


def test_noise_asks_for_more_rounds() -> None:
    rounds = noisy(logs(1.25), 30, 0.1)
    assert answer(rounds[:10]).verdict is StepVerdict.INCONCLUSIVE
    assert answer(rounds).verdict is StepVerdict.CHANGED


def test_changes_are_those_of_both_halves() -> None:
    said = answer(noisy(logs(1.0, 1.25), 30, 0.07))
    assert said.verdict is StepVerdict.LIKE_GOOD
    first, second = said.changes
    assert [(one.good, one.bad) for one in said.changes] == [(0, 4), (4, 9)]
    assert second.ratio == pytest.approx(1.25, rel=0.1)
    assert first.low < first.ratio < first.high
    assert second.low < second.ratio < second.high
    assert first.within or second.beyond


def test_a_fall_is_told_as_it_is() -> None:
    (change,) = answer(noisy(logs(0.5), 30, 0.03), faster=True).changes
    assert change.low < change.ratio < change.high < 1 / 1.1
    assert change.ratio == pytest.approx(0.5, rel=0.1)
    assert change.beyond


def test_all_errors_of_all_looks_add_up_to_that_of_the_step() -> None:
    rounds = noisy(logs(1.0, 1.0), 10, 0.05)
    each = rule.ALPHA / begun(256).most_steps / len(bisection.looks_of(1))
    paired = [one[1] - one[0] for one in rounds]
    found = {
        len(points): answer([one[: len(points)] for one in rounds]).changes[0].high
        for points in (rounds[0][:2], rounds[0])
    }
    for points, error in ((2, each), (3, each * bisection.FOR_WITHIN)):
        high = rule.hodges_lehmann(np.array(paired), 0.5, error).high
        assert found[points] == pytest.approx(math.exp(min(high, math.log(bisection.MOST))))


def test_every_scenario_is_a_pair_of_its_own() -> None:
    costs = [[[1.0, 1.25], [4.0, 5.0]]] * 6
    assert judge(begun(2), (0, 1), costs).verdict is StepVerdict.CHANGED
    assert judge(begun(2), (0, 1), [one[:1] for one in costs]).rounds == 0


@pytest.mark.parametrize(("disturbed", "enough"), [(5, 10), (6, 15)])
def test_nothing_is_said_while_most_rounds_are_disturbed(disturbed: int, enough: int) -> None:
    marks = [True] * disturbed + [False] * 10
    for rounds in (10, 15):
        said = answer([logs(2.0)] * rounds, marks[:rounds])
        assert (said.verdict is StepVerdict.CHANGED) == (rounds >= enough)
        assert said.rounds == min(rounds, enough)
        assert said.is_disturbed is (rounds < enough)


@pytest.mark.parametrize(
    ("rise", "wrong"), [(0.0, StepVerdict.CHANGED), (0.12, StepVerdict.WITHIN)]
)
@pytest.mark.parametrize("factor", [3.0, 1.5])
def test_two_modes_of_a_machine_mislead_as_seldom_as_a_step_may(
    factor: float, rise: float, wrong: StepVerdict
) -> None:
    # 40 % of the runs cost more.
    noise, misled = random.Random(1), 0
    for _ in range(500):
        rounds = [
            [
                cost + noise.gauss(0, 0.01) + math.log(factor) * (noise.random() < 0.4)
                for cost in logs(1 + rise)
            ]
            for _ in range(15)
        ]
        misled += answer(rounds).verdict is wrong
    assert misled / 500 <= rule.ALPHA / begun(256).most_steps

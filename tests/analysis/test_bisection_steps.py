"""Single steps: what rounds of two or three points say."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from tests.analysis.searched import begun, judged
from waitbench.analysis import bisection, rule
from waitbench.analysis.bisection import Step, judge
from waitbench.analysis.signed_rank import hodges_lehmann
from waitbench.analysis.verdicts import Verdict

FIRST, SECOND = (0, 4), (4, 9)
"""Halves of a step between three points."""


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
    ("ratios", "left"),
    [
        # Two points changed, or are within the margin.
        ([1.11], (0, 9)),
        ([1.09], ()),
        ([1.0], ()),
        ([0.5], ()),
        # A middle is like good, or like bad.
        ([1.0, 1.25], SECOND),
        ([1.05, 1.3], SECOND),
        ([0.8, 1.25], SECOND),
        ([1.25, 1.25], FIRST),
        ([1.25, 1.3], FIRST),
        ([1.25, 1.0], FIRST),
        ([1.25, 1.5625], SECOND),
        ([1.08, 1.16], ()),
        ([1.0, 1.0], ()),
    ],
)
def test_the_half_with_the_change_is_left(ratios: list[float], left: tuple[int, ...]) -> None:
    assert answer([logs(*ratios)] * 15).left == left
    # A fall is the mirror image.
    assert answer([logs(*(1 / ratio for ratio in ratios))] * 15, faster=True).left == left


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_is_not_changed_by_what_follows(seed: int) -> None:
    rounds = noisy(logs(1.0, 1.25), 30, 0.05, seed)
    whole = answer(rounds)
    assert whole.left == SECOND
    assert whole.rounds < 30
    assert answer(rounds[: whole.rounds]) == whole
    for count in range(1, whole.rounds):
        assert answer(rounds[:count]).left is None


def test_fewer_rounds_than_the_first_look_say_nothing() -> None:
    assert answer([logs(2.0)] * 5) == Step()
    at_six = answer([logs(2.0)] * 11)
    assert (at_six.left, at_six.rounds) == (None, 6), "a single scenario needs twelve"


def test_noise_asks_for_more_rounds() -> None:
    rounds = noisy(logs(1.25), 30, 0.1)
    assert answer(rounds[:12]).left is None
    assert answer(rounds).left == (0, 9)


def test_changes_are_those_of_both_halves() -> None:
    said = answer(noisy(logs(1.0, 1.25), 30, 0.07))
    assert said.left == SECOND
    first, second = said.changes
    assert [(one.good, one.bad) for one in said.changes] == [(0, 4), (4, 9)]
    assert second.ratio.value == pytest.approx(1.25, rel=0.1)
    assert first.ratio.high is not None
    assert first.ratio.value < first.ratio.high < 1.25
    assert second.verdict is Verdict.SLOWER


def test_a_fall_is_told_as_it_is() -> None:
    (change,) = answer(noisy(logs(0.5), 30, 0.03), faster=True).changes
    assert change.ratio.high is not None
    assert change.ratio.high < 1 / 1.1
    assert change.ratio.value == pytest.approx(0.5, rel=0.1)
    assert change.verdict is Verdict.FASTER


def test_all_errors_of_all_looks_and_halves_add_up_to_that_of_the_step() -> None:
    rounds = noisy(logs(1.0, 1.0), 12, 0.05)
    each = rule.ALPHA / begun(256).most_steps / len(bisection.LOOKS)
    paired = np.array([one[1] - one[0] for one in rounds])
    for points in (2, 3):
        change = answer([one[:points] for one in rounds]).changes[0]
        high = hodges_lehmann(paired, 0.5, each / (points - 1)).high
        assert change.ratio.high == pytest.approx(math.exp(high))


def test_every_scenario_is_a_pair_of_its_own() -> None:
    costs = [[[1.0, 1.25], [4.0, 5.0]]] * 6
    assert judge(begun(2), (0, 1), costs).left == (0, 1)
    assert judge(begun(2), (0, 1), [one[:1] for one in costs]).left is None


@pytest.mark.parametrize(("disturbed", "enough"), [(6, 12), (7, 20)])
def test_nothing_is_said_while_most_rounds_are_disturbed(disturbed: int, enough: int) -> None:
    marks = [True] * disturbed + [False] * 13
    for rounds in (12, 20):
        said = answer([logs(2.0)] * rounds, marks[:rounds])
        assert (said.left == (0, 9)) is (rounds >= enough)
        assert said.rounds == min(rounds, enough)
        assert said.is_disturbed is (rounds < enough)


@pytest.mark.parametrize(("rise", "wrong"), [(0.0, (0, 9)), (0.12, ())])
@pytest.mark.parametrize("factor", [3.0, 1.5])
def test_two_modes_of_a_machine_mislead_as_seldom_as_a_step_may(
    factor: float, rise: float, wrong: tuple[int, ...]
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
        misled += answer(rounds).left == wrong
    assert misled / 500 <= rule.ALPHA / begun(256).most_steps

"""Searches over histories, with their ends; and the verdicts of single steps."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.criteria import parse
from tests.features.bisect.searched import begun, history, judged, search
from tests.records import make_record, measurement, outcome, times
from waitbench.analysis import rule
from waitbench.analysis.rule import signed_rank_interval
from waitbench.features.bisect import search as bisection
from waitbench.features.bisect.search import End, Search, Step, StepRule, judge
from waitbench.model.metrics import BY_NAME, METRICS
from waitbench.model.run import FAILED, WARM_UP, Lack


def ended(search: Search) -> tuple[End, tuple[int, int]]:
    return search.end, search.suspects


@given(st.data())
def test_a_culprit_is_found_within_the_steps_that_the_error_is_shared_over(
    data: st.DataObject,
) -> None:
    points = data.draw(st.integers(2, 300))
    culprit = data.draw(st.integers(1, points - 1))
    faster = data.draw(st.booleans())
    size = data.draw(st.floats(0.101, 20))
    costs = [(-cost if faster else cost) for cost in history(points, (culprit, size))]
    result = search(costs, faster=faster)
    assert ended(result) == (End.CULPRIT, (culprit - 1, culprit))
    assert len(result.steps) <= result.most_steps


@given(st.data())
def test_of_several_culprits_one_is_named(data: st.DataObject) -> None:
    culprits = data.draw(st.sets(st.integers(1, 63), min_size=2, max_size=4))
    result = search(history(64, *((culprit, 0.25) for culprit in culprits)))
    assert result.end is End.CULPRIT
    assert result.suspects[1] in culprits


@given(st.data())
def test_a_culprit_among_unbuildable_points_is_a_range_that_holds_it(data: st.DataObject) -> None:
    unbuildable = data.draw(st.sets(st.integers(1, 38)))
    culprit = data.draw(st.integers(1, 39))
    result = search(history(40, (culprit, 0.25)), unbuildable=unbuildable)
    before = max(set(range(culprit)) - unbuildable)
    after = min(set(range(culprit, 40)) - unbuildable)
    assert ended(result) == (End.CULPRIT if after == before + 1 else End.RANGE, (before, after))
    assert len(result.steps) <= result.most_steps


@pytest.mark.parametrize(("rises", "faster"), [((), False), ((), True), (((7, 0.25),), True)])
def test_nothing_changed_or_the_other_way_ends_after_the_ends(
    rises: tuple[tuple[int, float], ...], faster: bool
) -> None:
    result = search(history(256, *rises), faster=faster)
    assert (result.end, len(result.steps), result.next()) == (End.NO_CHANGE, 1, None)


@given(st.integers(20, 80))
def test_a_ramp_names_no_commit(steps: int) -> None:
    result = search(history(90, *((at, 0.01) for at in range(5, 5 + steps))))
    assert (result.end, result.next()) == (End.OPEN, None)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_an_inconclusive_step_leaves_the_search_open_and_names_nobody(steps: int) -> None:
    so_far = search(history(9, (5, 0.25)), steps=steps)
    assert so_far.next() is not None
    stopped = replace(so_far, steps=(*so_far.steps, Step(rounds=30)))
    assert (stopped.end, stopped.next()) == (End.OPEN, None)


@pytest.mark.long
@pytest.mark.parametrize("rise", [0.0, 0.25])
@pytest.mark.parametrize("bimodal", [0.0, 0.1])
def test_noise_misleads_a_whole_search_as_seldom_as_promised(rise: float, bimodal: float) -> None:
    noise, wrong, named, searches = random.Random(3), 0, 0, 200
    costs = history(64, (20, rise))
    for _ in range(searches):
        so_far = begun(64)
        while points := so_far.next():
            rounds = [
                [
                    costs[point] + noise.gauss(0, 0.05) + math.log(3) * (noise.random() < bimodal)
                    for point in points
                ]
                for _ in range(30)
            ]
            step = judged(so_far, points, rounds)
            so_far = replace(so_far, steps=(*so_far.steps, step))
        named += so_far.end is End.CULPRIT
        wrong += so_far.end is End.CULPRIT and (not rise or so_far.suspects != (19, 20))
    assert wrong / searches <= rule.ALPHA
    if rise and not bimodal:
        assert named >= 0.95 * searches


METRIC_ORDER, SECOND = (0, 4), (4, 9)
"""Halves of a step between three points."""


def answer(
    rounds: Sequence[Sequence[float]], disturbed: Sequence[bool] = (), *, faster: bool = False
) -> Step:
    """Judges rounds of two or three points, in a search with ten steps."""
    search = begun(256, faster=faster)
    return judged(search, (0, 9) if len(rounds[0]) == 2 else (0, 4, 9), rounds, disturbed)


def logs(*ratios: float) -> list[float]:
    """Costs of points with these ratios to the first."""
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
        # A middle is like good, or like bad.
        ([1.0, 1.25], SECOND),
        ([0.8, 1.25], SECOND),
        ([1.25, 1.25], METRIC_ORDER),
        ([1.25, 1.0], METRIC_ORDER),
        ([1.25, 1.5625], SECOND),
        ([1.08, 1.16], ()),
        ([1.0, 1.0], ()),
    ],
)
def test_the_half_with_the_change_is_left(ratios: list[float], left: tuple[int, ...]) -> None:
    assert answer([logs(*ratios)] * 15).suspects == left
    # A fall is the mirror image.
    assert answer([logs(*(1 / ratio for ratio in ratios))] * 15, faster=True).suspects == left


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_is_not_changed_by_what_follows(seed: int) -> None:
    rounds = noisy(logs(1.0, 1.25), 30, 0.05, seed)
    whole = answer(rounds)
    assert whole.suspects == SECOND
    assert whole.rounds < 30
    assert answer(rounds[: whole.rounds]) == whole
    for count in range(1, whole.rounds):
        assert answer(rounds[:count]).suspects is None


def test_fewer_rounds_than_the_first_look_say_nothing() -> None:
    assert answer([logs(2.0)] * 5) == Step()
    at_six = answer([logs(2.0)] * 11)
    assert (at_six.suspects, at_six.rounds) == (None, 6), "a single scenario needs twelve"


def test_all_errors_of_all_looks_and_halves_add_up_to_that_of_the_step() -> None:
    rounds = noisy(logs(1.0, 1.0), 12, 0.05)
    each = rule.ALPHA / 2 / begun(256).most_steps / len(bisection.ANALYSES)
    paired = np.array([row[1] - row[0] for row in rounds])
    for points in (2, 3):
        change = answer([row[:points] for row in rounds]).changes[0]
        high = signed_rank_interval(paired, 0.5, each / (points - 1)).high
        assert change.ratio.high == pytest.approx(math.exp(high))


def test_every_scenario_is_a_pair_of_its_own() -> None:
    costs = [[[1.0, 1.25], [4.0, 5.0]]] * 6
    assert judge(begun(2), (0, 1), costs).suspects == (0, 1)
    assert judge(begun(2), (0, 1), [row[:1] for row in costs]).suspects is None


@pytest.mark.parametrize(("disturbed", "enough"), [(6, 12), (7, 20)])
def test_nothing_is_said_while_most_rounds_are_disturbed(disturbed: int, enough: int) -> None:
    marks = [True] * disturbed + [False] * 13
    for rounds in (12, 20):
        step = answer([logs(2.0)] * rounds, marks[:rounds])
        assert (step.suspects == (0, 9)) is (rounds >= enough)
        assert step.rounds == min(rounds, enough)
        assert step.is_disturbed is (rounds < enough)


def test_a_revision_that_misses_its_time_limit_is_the_worse_one() -> None:
    """It answers in two of five rounds only, as soon as the other revision."""
    key = BY_NAME["latency-p50"].key
    record = make_record({"c0": [{key: 0.01}] * 30, "c1": []})
    for number in range(1, 31):
        is_late = number % 5 < 3
        lack = {key: Lack(why="no answer", more_than=1.0)} if is_late else {}
        metrics = {} if is_late else {key: 0.01}
        record.add(measurement("c1", number, metrics, position=1, incomplete=lack))
    of_step = StepRule(
        search=begun(2), points=(0, 1), criterion=parse(["latency-p50:25%"], METRICS)[0],
        most_rounds=30, budget_s=1.0,
    )  # fmt: skip
    assert of_step.step([record]).suspects == (0, 1)
    lacks = make_record({label: [times(1, 1, 1)] * 30 for label in ("c0", "c1")}, scenario="lacks")
    assert of_step.step([record, lacks]).suspects == (0, 1), "another scenario lacks the metric"
    assert of_step.unsettled([record, lacks], []) == {}


def test_a_revision_that_is_never_ready_in_two_scenarios_is_missing() -> None:
    records = [make_record({"c0": [], "c1": []}, scenario=name) for name in ("one", "two")]
    message = "it was not ready within 30 s"
    for record in records:
        record.add(outcome("c1", WARM_UP, FAILED, message=message))
    assert bisection.given_up(records) == {"c1": f"c1 failed in 2 scenarios: {message}"}
    assert bisection.given_up(records[:1]) == {}

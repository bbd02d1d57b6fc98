"""Costs as they would be on CPUs of one pace."""

import math
import random

import pytest

from tests.analysis.judged import judge
from tests.records import make_record
from waitbench.analysis.criteria import parse
from waitbench.analysis.pace import FEWEST, at_equal_pace
from waitbench.analysis.rounds import Round
from waitbench.analysis.sequential import Errors, bounds
from waitbench.model.metrics import BY_NAME, METRICS
from waitbench.model.record import Record

STEADY = BY_NAME["steady"]
(AT_MOST_A_TENTH,) = parse(["steady:10%"], METRICS)


def a_round(*scenarios: tuple[tuple[float, float], tuple[float, float]]) -> Round:
    """Of costs and paces, each of the baseline and of the candidate."""
    costs = tuple(of for of, _ in scenarios)
    return Round(
        logs=tuple(math.log(ours / theirs) for theirs, ours in costs),
        rises=tuple(ours - theirs for theirs, ours in costs),
        pairs=costs,
        paces=tuple(pace for _, pace in scenarios),
    )


def busy_neighbour(
    chance: random.Random,
    rounds: int,
    *,
    slope: float = 2.0,
    noise: float = 0.03,
    slower: float = 1.0,
    dearer: float = 1.0,
) -> list[Round]:
    """Rounds on a core whose neighbour comes and goes; in what the candidate differs."""
    made = []
    for _ in range(rounds):
        paces = [chance.choice([1.0, 1.0, 1.15]) * chance.gauss(1, 0.01) for _ in range(2)]
        paces[1] *= slower
        costs = [0.02 * pace**slope * math.exp(chance.gauss(0, noise)) for pace in paces]
        made.append(a_round(((costs[0], costs[1] * dearer), (2e-6 * paces[0], 2e-6 * paces[1]))))
    return made


def centre(rounds: list[Round]) -> float:
    """The mean ratio."""
    return math.exp(math.fsum(one.log for one in rounds) / len(rounds))


def spread(rounds: list[Round]) -> float:
    middle = math.log(centre(rounds))
    return math.sqrt(math.fsum((one.log - middle) ** 2 for one in rounds) / len(rounds))


def test_what_the_pace_explains_is_subtracted() -> None:
    made = busy_neighbour(random.Random(1), 12, noise=0.0, dearer=1.25)
    adjusted = at_equal_pace(made, STEADY)
    assert spread(made) > 0.1
    assert spread(adjusted) == pytest.approx(0, abs=1e-6)
    assert centre(adjusted) == pytest.approx(1.25)
    rises = [one.rises[0] for one in adjusted]
    assert rises == pytest.approx([rises[0]] * 12)


def test_each_scenario_has_a_slope_of_its_own() -> None:
    chance = random.Random(2)
    steep = busy_neighbour(chance, 12, noise=0.0, slope=2.0)
    flat = busy_neighbour(chance, 12, noise=0.0, slope=0.5)
    both = [
        a_round((one.pairs[0], one.paces[0]), (two.pairs[0], two.paces[0]))
        for one, two in zip(steep, flat, strict=True)
    ]
    for one in at_equal_pace(both, STEADY):
        assert one.logs == pytest.approx((0, 0), abs=1e-6)


def test_few_rounds_and_rounds_without_a_pace_stay_as_they_are() -> None:
    made = busy_neighbour(random.Random(3), FEWEST)
    assert at_equal_pace(made, STEADY) != made
    assert at_equal_pace(made[1:], STEADY) == made[1:]
    lacking = [*made, made[0]._replace(paces=())]
    assert at_equal_pace(lacking, STEADY) == lacking


def test_a_pace_that_never_changes_or_goes_the_other_way_changes_nothing() -> None:
    for slope, calm in ((0.0, True), (-2.0, False)):
        made = busy_neighbour(random.Random(4), 10, slope=slope)
        if calm:
            made = [one._replace(paces=((2e-6, 2e-6),)) for one in made]
        for before, after in zip(made, at_equal_pace(made, STEADY), strict=True):
            assert after.logs == pytest.approx(before.logs)


def test_rare_dear_runs_do_not_set_the_slope() -> None:
    made = busy_neighbour(random.Random(5), 20, noise=0.0)
    spinning = made.copy()
    for number in (3, 9, 15):
        (theirs, ours) = made[number].pairs[0]
        spinning[number] = a_round(((theirs, 15 * ours), made[number].paces[0]))
    adjusted = at_equal_pace(spinning, STEADY)
    for number, one in enumerate(adjusted):
        assert one.log == pytest.approx(math.log(15) if number in (3, 9, 15) else 0, abs=1e-6)


@pytest.mark.parametrize("slower", [1.3, 1 / 1.3])
def test_a_candidate_that_slows_its_cpus_is_excused_no_tenth_of_its_cost(slower: float) -> None:
    made = busy_neighbour(random.Random(6), 12, slower=slower)
    moved = centre(made) / centre(at_equal_pace(made, STEADY))
    assert abs(math.log(moved)) <= math.log(1.1) + 1e-3


@pytest.mark.parametrize("slope", [0.0, 2.0])
@pytest.mark.parametrize("rounds", [FEWEST, 12])
def test_equal_revisions_are_told_apart_as_seldom_as_is_said(slope: float, rounds: int) -> None:
    chance = random.Random(7)
    errors = Errors(alarm=0.05, clear=0.05)
    alarms, narrower = 0, 0
    for _ in range(400):
        made = busy_neighbour(chance, rounds, slope=slope)
        found, raw = (
            bounds([one.log for one in of], errors) for of in (at_equal_pace(made, STEADY), made)
        )
        alarms += found.low > 0
        narrower += found.standard_error < 0.6 * raw.standard_error
    # Binomial: more than 33 of 400 happen with a chance of 0.3 % where 5 % are allowed.
    assert alarms <= 33
    assert (narrower > 350) == (slope > 0)


def record_of(rounds: list[Round]) -> Record:
    """A record of one scenario with these rounds."""
    runs = [
        [
            {"time_cpu_steady": one.pairs[0][side], "machine_pace": one.paces[0][side]}
            for one in rounds
        ]
        for side in (0, 1)
    ]
    return make_record({"a": runs[0], "b": runs[1]})


def test_the_gate_judges_at_equal_pace_and_says_so() -> None:
    made = busy_neighbour(random.Random(8), 10)
    (told,) = judge(record_of(made), AT_MOST_A_TENTH)
    unknown = [one._replace(paces=((1e-6, 1e-6),)) for one in made]
    (raw,) = judge(record_of(unknown), AT_MOST_A_TENTH)
    assert told.at_equal_pace
    assert told.high is not None
    assert raw.high is not None
    assert told.high < 1.1 < raw.high
    assert not told.is_open
    assert raw.is_open


def test_what_does_not_depend_on_the_pace_is_judged_as_it_is() -> None:
    record = record_of(busy_neighbour(random.Random(9), 10))
    (wakeups,) = parse(["wakeups:10%"], METRICS)
    for run in record.measurements:
        run.metrics["wakeups"] = 100.0  # type: ignore[index]
    (told,) = judge(record, wakeups)
    assert not told.at_equal_pace


def test_what_a_look_says_is_not_said_anew_by_later_rounds() -> None:
    made = busy_neighbour(random.Random(10), 8, dearer=1.5)
    (then,) = judge(record_of(made[:6]), AT_MOST_A_TENTH)
    strange = [one._replace(paces=((9e-6, 1e-6),)) for one in made[6:]]
    (later,) = judge(record_of([*made[:6], *strange]), AT_MOST_A_TENTH, most_rounds=6)
    assert (then.ratio, then.low) == (later.ratio, later.low)

"""Rounds at once and one run at a time: where they tell something else, and how far."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from tests.criteria import parse
from tests.records import make_record, measurement, specify
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.rounds import (
    concurrent_rounds_understate,
    is_confirmed,
    why_interleaved,
)
from waitbench.model.metrics import BY_NAME, MEMORY, METRICS, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.run import CONCURRENT, WARM_UP, Lack

MIB = 2.0**20
IDLE, LATENESS = BY_NAME["idle"], BY_NAME["latency-p50"]
Pair = tuple[float, float]


def rounds(metric: Metric, in_turn: Sequence[Pair], at_once: Sequence[Pair]) -> ScenarioResults:
    """A worker's rounds: what the baseline and the candidate cost."""
    record = make_record({"old": [], "new": []})
    specify(record, metrics=(*METRICS, MEMORY))
    for number, pair in enumerate((*in_turn, *at_once), 1):
        marks = () if number <= len(in_turn) else (CONCURRENT,)
        for label, cost in zip(("old", "new"), pair, strict=True):
            run = measurement(label, number, {metric.key: cost})
            record.add(structs.replace(run, marks=marks))
    return record


def found(record: ScenarioResults) -> str:
    return why_interleaved(record, DEFAULTS).partition(" differs")[0]


def times(pair: Pair, *factors: float) -> list[Pair]:
    return [(pair[0], pair[1] * factor) for factor in factors]


NOISE = (1.0, 1.05, 0.96, 1.02)


@pytest.mark.parametrize(
    ("metric", "in_turn", "at_once", "is_other"),
    [
        # A lock of another copy hides that it costs more.
        pytest.param(IDLE, (0.1, 0.14), times((0.1, 0.1), *NOISE), True, id="lock"),
        # Pages of a file, which four copies share.
        pytest.param(
            MEMORY, (17 * MIB, 41 * MIB), times((5.5 * MIB, 11.5 * MIB), *NOISE), True, id="pages"
        ),
        # A message to a port that all copies listen to: any of them answers.
        pytest.param(
            LATENESS, (0.002, 0.2), [(0.2, 0.2), (0.002, 0.2), (0.2, 0.002), (0.002, 0.002)], True,
            id="messages",
        ),
        pytest.param(IDLE, (0.1, 0.1), times((0.1, 0.14), *NOISE), True, id="costlier at once"),
        pytest.param(IDLE, (0.1, 0.108), times((0.1, 0.1), *NOISE), False, id="noise"),
        pytest.param(IDLE, (0.1, 0.1), times((0.06, 0.06), *NOISE), False, id="warm caches"),
        pytest.param(LATENESS, (0.002, 0.003), times((0.001, 0.001), *NOISE), False, id="allowed"),
        pytest.param(IDLE, (0.1, 0.14), times((0.1, 0.1), 0.7, 1.0, 1.4), False, id="varies"),
        pytest.param(IDLE, (0.1, 0.14), [(0.1, 0.1)], False, id="one round at once"),
        # Both say that it fails.
        pytest.param(IDLE, (0.001, 1.4), times((0.001, 0.7), *NOISE), False, id="spins"),
    ],
)  # fmt: skip
def test_a_round_one_run_at_a_time_that_tells_something_else_is_noticed(
    metric: Metric, in_turn: Pair, at_once: Sequence[Pair], is_other: bool
) -> None:
    assert found(rounds(metric, [in_turn], at_once)) == (metric.title if is_other else "")
    # All of them have to.
    centre = sorted(at_once, key=lambda pair: pair[1] / pair[0])[len(at_once) // 2]
    assert found(rounds(metric, [in_turn, centre], at_once)) == ""


def test_rounds_at_once_understate_the_size_of_what_spins() -> None:
    spins = rounds(IDLE, [(0.001, 1.4)], times((0.001, 0.7), *NOISE))
    assert concurrent_rounds_understate(spins, "new", IDLE)
    for pair in ((0.1, 0.14), (0.001, 0.7)):
        assert not concurrent_rounds_understate(
            rounds(IDLE, [pair], times(pair, *NOISE)), "new", IDLE
        )
    assert not concurrent_rounds_understate(
        rounds(IDLE, [(0.1, 0.14)], times((0.1, 0.1), *NOISE)), "new", IDLE
    )


@pytest.mark.parametrize(
    ("warm_ups", "confirms"),
    [
        ([0.002, 0.002], True),
        # A message to a port that all copies listen to: any of them answers.
        ([0.002, 0.2], False),
        # On cold caches, the baseline is later: then it shows nothing.
        ([0.2, 0.002], False),
        ([0.002], False),
        ([], False),
    ],
)
def test_warm_ups_confirm_rounds_at_once_from_which_they_do_not_differ(
    warm_ups: Sequence[float], confirms: bool
) -> None:
    (criterion,) = parse(["latency-p50:25%,5ms"], METRICS)
    record = rounds(LATENESS, [], times((0.002, 0.002), *NOISE))
    for label, cost in zip(("old", "new"), warm_ups, strict=False):
        record.add(measurement(label, WARM_UP, {LATENESS.key: cost}))
    assert is_confirmed(record, "new", criterion) is confirms
    record.add(measurement("old", 9, {LATENESS.key: 0.002}))
    assert is_confirmed(record, "new", criterion) is confirms, "half a round shows nothing"
    record.add(measurement("new", 9, {LATENESS.key: 0.002}))
    assert is_confirmed(record, "new", criterion), "a round in turns does"


def test_a_candidate_that_is_deaf_by_itself_and_answers_beside_copies_differs() -> None:
    """Copies that share a queue answer for each other."""
    record = rounds(LATENESS, [], [(0.002, 0.002)] * 4)
    lack = Lack(why="no answer", more_than=2.0)
    for label, is_deaf in (("old", False), ("new", True)):
        metrics = {} if is_deaf else {LATENESS.key: 0.002}
        incomplete = {LATENESS.key: lack} if is_deaf else {}
        record.add(measurement(label, 9, metrics, incomplete=incomplete))
    assert found(record) == LATENESS.title


@pytest.mark.parametrize(
    ("in_turn", "at_once", "is_enough"),
    [
        pytest.param(0.3, [0.2, 0.3, 0.25], True, id="room"),
        pytest.param(0.3, [], True, id="before a batch"),
        pytest.param(0.6, [], False, id="too near in turns"),
        # A copy that waits for another's lock costs nothing meanwhile.
        pytest.param(0.6, [0.1, 0.1, 0.1], False, id="lock"),
        pytest.param(0.3, [0.6, 0.6, 0.3], False, id="too near at once"),
        pytest.param(2.0, [2.0, 1.5, 1.2], True, id="above in each"),
        # Its outliers are counted by the rule.
        pytest.param(0.3, [0.3, 0.3, 4.0], True, id="outlier"),
    ],
)
@pytest.mark.parametrize("labels", [["new"], ["old", "new"]])
def test_rounds_at_once_say_that_a_limit_is_kept_if_half_of_it_is_enough(
    labels: Sequence[str], in_turn: float, at_once: Sequence[float], is_enough: bool
) -> None:
    """Beside copies, workers had two thirds of their CPU and more. A baseline has no limit."""
    record = make_record({label: [] for label in labels})
    for number, share in enumerate((in_turn, *at_once), 1):
        marks = (CONCURRENT,) if number > 1 else ()
        for label in labels:
            cores = 0.01 * share if label == "new" else 1.0
            run = measurement(label, number, {BY_NAME["share"].key: cores})
            record.add(structs.replace(run, marks=marks))
    reason = why_interleaved(record, parse(["limit idle:1%"], METRICS))
    assert reason == ("" if is_enough else "idle CPU per second exceeds half of its limit")

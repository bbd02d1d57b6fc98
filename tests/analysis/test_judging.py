"""Judgements of a candidate by a criterion."""

import math
from dataclasses import replace

import pytest
from scipy import stats

from tests.gate_runs import Rounds, noisy, record_of, rounds, scaled
from tests.records import make_record, times
from waitbench.analysis import criteria, judging, sequential
from waitbench.analysis.judging import Judgement
from waitbench.analysis.statistics import Verdict
from waitbench.model.metrics import METRICS
from waitbench.model.record import Record

(SYSTEM, ALONE, FLOOR, CPU) = criteria.parse(
    ["system:10%", "system:10%,alone", "system:10%,20ms", "cpu:10%"], METRICS
)


def judge(
    record: Record, *found: criteria.Criterion, hypotheses: int = 1, most_rounds: int = 10
) -> tuple[Judgement, ...]:
    return judging.judge(record, found or (SYSTEM,), hypotheses, most_rounds)


def test_bounds_are_those_of_the_sequential_test_at_its_level() -> None:
    base, candidate = rounds(1, 0.5), scaled(rounds(1, 0.5)[::-1], system=1.2)
    (judgement,) = judge(record_of(base, candidate), hypotheses=3)
    logs = [math.log(new[1] / old[1]) for old, new in zip(base, candidate, strict=True)]
    expected = sequential.bounds(logs, 0.05 / 3 / 6)
    assert judgement.ratio == pytest.approx(math.exp(expected.centre))
    assert judgement.low == pytest.approx(math.exp(expected.low))
    assert judgement.high == pytest.approx(math.exp(expected.high))
    assert (judgement.scenario, judgement.label) == ("waiting", "new")
    assert (judgement.criterion, judgement.rounds) == (SYSTEM, 10)


def test_every_candidate_is_judged_by_every_criterion() -> None:
    runs = [times(1, 1, 1)] * 3
    found = judge(make_record({"a": runs, "b": runs, "c": runs}), SYSTEM, CPU)
    assert [(j.label, j.criterion) for j in found] == [
        ("b", SYSTEM), ("b", CPU), ("c", SYSTEM), ("c", CPU),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("factor", "verdict", "fails"),
    [
        (1.5, Verdict.SLOWER, True),
        (1.05, Verdict.SAME, False),
        (1.10, Verdict.UNCLEAR, False),
        (0.5, Verdict.FASTER, False),
    ],
)
def test_a_rise_fails_beyond_the_margin_only(factor: float, verdict: Verdict, fails: bool) -> None:
    base = rounds(1, 0.5)
    (judgement,) = judge(record_of(base, scaled(base[::-1], system=factor)))
    assert (judgement.verdict, judgement.fails) == (verdict, fails)


def test_a_high_bound_at_the_margin_is_the_same_and_a_low_one_at_the_margin_is_no_rise() -> None:
    # Ratios without any spread: both bounds lie where the ratio is.
    margin = replace(CPU, margin=1.0)
    (judgement,) = judge(
        make_record({"a": [times(1, 1, 0)] * 3, "b": [times(1, 2, 0)] * 3}), margin
    )
    assert judgement.ratio == judgement.low == judgement.high == pytest.approx(2)
    assert judgement.verdict is Verdict.SAME
    (unchanged,) = judge(make_record({"a": [times(1, 1, 0)] * 3, "b": [times(1, 1, 0)] * 3}))
    assert unchanged.verdict is Verdict.SAME
    assert not unchanged.outweighed, "nothing rose, and nothing fell"


def test_rounds_between_looks_do_not_count_yet() -> None:
    later = [*rounds(1, 0.5, 6), (9.0, 9.0)]
    (judgement,) = judge(record_of(rounds(1, 0.5, 7), later), CPU, most_rounds=20)
    assert judgement.rounds == 6
    assert judgement.ratio == pytest.approx(1)


def test_the_last_round_is_a_look_whatever_its_number() -> None:
    (judgement,) = judge(record_of(rounds(1, 0.5, 7), rounds(1, 0.5, 7)), CPU, most_rounds=7)
    assert judgement.rounds == 7


def test_two_rounds_are_judged_where_there_will_be_no_more() -> None:
    (judgement,) = judge(record_of(rounds(1, 0.5, 2), rounds(1, 0.5, 2)), CPU, most_rounds=2)
    assert judgement.ratio == pytest.approx(1)


def test_before_the_first_look_nothing_is_known() -> None:
    (judgement,) = judge(record_of(rounds(1, 0.5, 2), rounds(1, 0.5, 2)), CPU)
    assert judgement == Judgement(scenario="waiting", label="new", criterion=CPU, rounds=2)
    assert (judgement.verdict, judgement.supported_margin) == (Verdict.UNCLEAR, None)
    assert not judgement.settled
    assert judgement.is_open


@pytest.mark.parametrize(
    ("after", "moved"),
    [
        ((0.12, 0.39), True),
        ((5.1, 0.4), False),  # 0.3 s more system time, 0.2 s more in all
        ((4.7, 0.4), False),  # 0.3 s more system time, 0.2 s less in all: not mostly a move
        ((4.5, 0.4), True),  # 0.3 s more system time, 0.4 s less in all
    ],
)
def test_a_rise_of_system_time_is_a_move_where_total_cpu_fell_by_more(
    after: tuple[float, float], moved: bool
) -> None:
    record = record_of(rounds(5.2, 0.1), rounds(*after))
    judgement, alone, cpu = judge(record, SYSTEM, ALONE, CPU)
    assert judgement.verdict is alone.verdict is Verdict.SLOWER
    assert (judgement.moved, judgement.fails) == (moved, not moved)
    assert (alone.moved, alone.fails) == (False, True)
    assert not cpu.moved


def test_a_rise_that_total_cpu_fell_by_just_as_much_is_not_forgiven() -> None:
    record = make_record({"a": [times(1, 1, 0.25)] * 3, "b": [times(1, 0.5, 0.5)] * 3})
    (judgement,) = judge(record)
    assert (judgement.moved, judgement.fails) == (False, True)


def test_a_rise_below_the_floor_never_fails() -> None:
    base = rounds(1, 0.010)
    assert judge(record_of(base, scaled(base, system=2)), SYSTEM)[0].fails
    (judgement,) = judge(record_of(base, scaled(base, system=2)), FLOOR)
    assert (judgement.verdict, judgement.fails) == (Verdict.SAME, False)
    base = rounds(1, 0.030)
    assert judge(record_of(base, scaled(base, system=2)), FLOOR)[0].fails


def test_a_rise_of_exactly_the_floor_fails() -> None:
    record = make_record({"a": [times(1, 1, 0.25)] * 3, "b": [times(1, 1, 0.5)] * 3})
    assert judge(record, replace(SYSTEM, floor=0.25))[0].fails
    assert not judge(record, replace(SYSTEM, floor=0.2500001))[0].fails


def test_system_time_that_cannot_outweigh_the_certain_fall_of_cpu_is_settled() -> None:
    base, candidate = rounds(5, 0.5, 3), noisy(3, user=0.5)
    judgement, alone = judge(record_of(base, candidate), SYSTEM, ALONE)
    assert judgement.verdict is alone.verdict is Verdict.UNCLEAR
    assert (judgement.outweighed, judgement.settled, judgement.is_open) == (True, True, False)
    assert (alone.outweighed, alone.settled, alone.is_open) == (False, False, True)


def test_a_fall_of_cpu_that_is_not_certain_outweighs_nothing() -> None:
    base: Rounds = [(3.0, 0.5), (5.0, 0.5), (3.0, 0.5)]
    judgement = judge(record_of(base, [(1.0, 0.5), (9.0, 0.3), (1.0, 0.7)]))[0]
    assert (judgement.verdict, judgement.outweighed) == (Verdict.UNCLEAR, False)


def scattered(centre: float, count: int = 6, spread: float = 0.1) -> Record:
    """Log ratios of system time, half of them ``spread`` below and half above the centre."""
    candidate = [
        times(1, 0, math.exp(centre + (spread if number % 2 else -spread)))
        for number in range(count)
    ]
    return make_record({"a": [times(1, 0, 1)] * count, "b": candidate})


def test_what_the_rounds_left_cannot_settle_is_given_up_from_the_sixth_on() -> None:
    def found(count: int, most_rounds: int) -> Judgement:
        record = scattered(math.log(1.1), count)
        return judge(record, ALONE, most_rounds=most_rounds)[0]

    assert not found(5, 10).hopeless
    given_up = found(6, 10)
    assert (given_up.hopeless, given_up.settled) == (True, True)
    assert given_up.is_open, "it is given up, not answered"
    assert not found(6, 100).hopeless, "a hundred rounds would do"
    assert not found(6, 6).hopeless, "there is nothing left to save"


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(("share", "hopeless"), [(0.98, True), (1.02, False)])
def test_hope_lasts_while_two_standard_errors_would_bring_the_bounds_to_the_margin(
    side: int, share: float, hopeless: bool
) -> None:
    standard_error = 0.1 / math.sqrt(5)
    # After ten rounds, of which the first and the last are cut: seven degrees of freedom.
    at_last = standard_error * math.sqrt(6 / 10) * stats.t.ppf(1 - 0.05 / 6, 7)
    distance = at_last - 2 * standard_error
    record = scattered(math.log(1.1) + side * share * distance)
    assert judge(record, ALONE)[0].hopeless is hopeless


def test_rounds_without_any_noise_are_never_hopeless() -> None:
    record = make_record({"a": [times(1, 1, 1)] * 6, "b": [times(1, 1, 1)] * 6})
    assert not judge(record, replace(CPU, margin=0.0))[0].hopeless


def test_astronomic_bounds_stay_numbers_that_files_can_hold() -> None:
    record = make_record({
        "a": [times(1, 0, 1)] * 3,
        "b": [times(1, 0, value) for value in (1e-3, 1e6, 1e-3)],
    })  # fmt: skip
    (judgement,) = judge(record, ALONE)
    assert judgement.high == pytest.approx(1e9)
    assert judgement.low == pytest.approx(0, abs=1e-9)


def test_the_supported_margin_is_what_half_the_bounds_span() -> None:
    judgement = Judgement(
        scenario="s", label="l", criterion=CPU, ratio=1.0, low=0.8, high=1.25, rounds=3
    )
    assert judgement.supported_margin == pytest.approx(0.25)
    assert replace(judgement, low=None).supported_margin is None
    assert replace(judgement, high=None).supported_margin is None


def test_no_more_rounds_are_needed_once_each_candidate_failed_or_is_settled() -> None:
    open_one = Judgement(scenario="s", label="b", criterion=CPU, rounds=3)
    failed = replace(open_one, verdict=Verdict.SLOWER)
    same = replace(open_one, verdict=Verdict.SAME)
    assert judging.is_settled([])
    assert judging.is_settled([open_one, failed])
    assert judging.is_settled([same, replace(open_one, hopeless=True)])
    assert not judging.is_settled([same, open_one])
    assert not judging.is_settled([failed, replace(open_one, label="c")])
    assert judging.is_settled([failed, replace(same, label="c")])

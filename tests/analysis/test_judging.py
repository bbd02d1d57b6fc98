"""Judgements of a candidate by a criterion, and what more rounds would settle."""

import math
from dataclasses import replace

import pytest
from scipy import stats

from tests.analysis.judged import (
    ALONE,
    CPU,
    FLOOR,
    SYSTEM,
    TOGETHER,
    WAKEUPS,
    judge,
    of_ratios,
    scattered,
)
from tests.gate_runs import counted, record_of, rounds, scaled
from tests.records import make_record, times
from waitbench.analysis import criteria, judging, sequential
from waitbench.analysis.judging import Judgement
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME


def test_bounds_are_those_of_the_sequential_test_at_its_errors() -> None:
    base, candidate = rounds(1, 0.5), scaled(rounds(1, 0.5)[::-1], system=1.2)
    (judgement,) = judge(record_of(base, candidate), hypotheses=3)
    logs = [math.log(new[1] / old[1]) for old, new in zip(base, candidate, strict=True)]
    errors = sequential.errors_at(10, 3)
    expected = sequential.bounds(logs, errors)
    assert judgement.ratio == pytest.approx(math.exp(expected.centre))
    assert judgement.low == pytest.approx(math.exp(expected.low))
    assert judgement.high == pytest.approx(math.exp(expected.high))
    assert (judgement.place, judgement.scenarios) == ("waiting", ("waiting",))
    assert (judgement.label, judgement.criterion, judgement.rounds) == ("new", SYSTEM, 10)


@pytest.mark.parametrize(
    ("factor", "verdict", "fails"),
    [
        (1.5, Verdict.SLOWER, True),
        (1.05, Verdict.WITHIN_MARGIN, False),
        (1.10, Verdict.INCONCLUSIVE, False),
        (0.5, Verdict.FASTER, False),
    ],
)
def test_a_rise_fails_beyond_the_margin_only(factor: float, verdict: Verdict, fails: bool) -> None:
    base = rounds(1, 0.5, 6)
    (judgement,) = judge(record_of(base, scaled(base[::-1], system=factor)))
    assert (judgement.verdict, judgement.fails) == (verdict, fails)


def test_a_high_bound_at_the_margin_is_the_same_and_a_low_one_at_the_margin_is_no_rise() -> None:
    # Ratios without any spread: both bounds lie where the ratio is.
    margin = replace(CPU, margin=1.0)
    (judgement,) = judge(
        make_record({"a": [times(1, 1, 0)] * 6, "b": [times(1, 2, 0)] * 6}), margin
    )
    assert judgement.ratio == judgement.low == judgement.high == pytest.approx(2)
    assert judgement.verdict is Verdict.WITHIN_MARGIN
    (unchanged,) = judge(make_record({"a": [times(1, 1, 0)] * 3, "b": [times(1, 1, 0)] * 3}))
    assert unchanged.verdict is Verdict.WITHIN_MARGIN


def test_rounds_after_the_last_look_that_is_allowed_do_not_count() -> None:
    (judgement,) = judge(record_of(rounds(1, 0.5, 8), rounds(1, 0.5, 8)), CPU, most_rounds=7)
    assert judgement.rounds == 6


def test_before_the_first_look_nothing_is_known() -> None:
    (judgement,) = judge(record_of(rounds(1, 0.5, 2), rounds(1, 0.5, 2)), CPU)
    assert judgement == Judgement(
        place="waiting", scenarios=("waiting",), label="new", criterion=CPU, rounds=2
    )
    assert (judgement.verdict, judgement.supported_margin) == (Verdict.INCONCLUSIVE, None)
    assert not judgement.settled
    assert judgement.is_open


def test_what_the_runs_do_not_have_is_settled_but_has_no_answer() -> None:
    record = make_record({"a": [times(1, 1, 1)] * 3, "b": [times(1, 1, 1)] * 3})
    (judgement,) = judge(record, WAKEUPS)
    assert (judgement.verdict, judgement.settled) == (Verdict.NOT_MEASURED, True)
    assert judgement.why_given_up == "the runs do not have wake-ups while waiting"
    assert judgement.rounds == 0


def test_several_scenarios_together_are_judged_by_the_mean_of_each_round() -> None:
    # One wobbles up whenever the other wobbles down: their mean hardly moves.
    up = [(1.0, 0.3 * (-1) ** number) for number in range(6)]
    records = [
        make_record({
            "a": [times(1, 1, 0)] * 6,
            "b": [times(1, math.exp(0.2 + sign * log), 0) for _, log in up],
        }, scenario=name)
        for name, sign in (("one", 1), ("two", -1))
    ]  # fmt: skip
    when = judging.schedule(1, 10)
    pooled, *single = (judging.judge(q, when) for q in criteria.ask(records, [TOGETHER, CPU]))
    assert pooled.ratio == pooled.low == pytest.approx(math.exp(0.2))
    assert pooled.fails
    assert (pooled.place, pooled.scenarios) == ("2 scenarios together", ("one", "two"))
    assert [judgement.verdict for judgement in single] == [Verdict.INCONCLUSIVE] * 2


def test_a_certain_answer_stands_when_the_next_round_is_noisy() -> None:
    calm, noisy = [0.0, 0.001, -0.001], [0.5]
    assert judge(of_ratios(calm), CPU)[0].verdict is Verdict.WITHIN_MARGIN
    (judgement,) = judge(of_ratios(calm + noisy), CPU)
    assert (judgement.verdict, judgement.rounds) == (Verdict.WITHIN_MARGIN, 3)
    assert judge(of_ratios(noisy + calm), CPU)[0].verdict is Verdict.INCONCLUSIVE


def test_a_later_certain_answer_takes_the_place_of_an_earlier_one() -> None:
    changed = [0.0, 0.001, -0.001, *[0.5 + 0.001 * number for number in range(27)]]
    (judgement,) = judge(of_ratios(changed), CPU, most_rounds=30)
    assert (judgement.verdict, judgement.rounds) == (Verdict.SLOWER, 30)


def test_an_explanation_that_rose_fails_where_its_cost_did_not_fall() -> None:
    for cost in (1.0, 1.02, 2.0):
        (judgement,) = judge(counted("s", wakeups=1.2, steady=cost), WAKEUPS)
        assert (judgement.fails, judgement.settled) == (True, True)
        assert judgement.cost is BY_NAME["steady"]
        assert judgement.cost_ratio == pytest.approx(cost, rel=0.01)


def test_an_explanation_that_rose_is_forgiven_where_its_cost_fell_for_certain() -> None:
    (judgement,) = judge(counted("s", wakeups=300.0, steady=0.06), WAKEUPS)
    assert judgement.verdict is Verdict.EXCUSED
    assert (judgement.fails, judgement.settled) == (False, True)
    assert judgement.cost_ratio == pytest.approx(0.06, rel=0.01)
    alone = replace(WAKEUPS, alone=True)
    (strict,) = judge(counted("s", wakeups=300.0, steady=0.06), alone)
    assert (strict.fails, strict.cost) == (True, None)


def test_a_cost_is_not_forgiven_for_a_fall_of_another() -> None:
    (judgement,) = judge(counted("s", cpu=1.5, steady=0.1, real=0.5), CPU)
    assert (judgement.fails, judgement.cost) == (True, None)


def test_the_cost_is_that_of_the_same_scenarios_together() -> None:
    records = [
        counted("one", wakeups=1.5, steady=0.2),
        counted("two", wakeups=1.5, steady=1.1),
    ]
    when = judging.schedule(3, 10)
    together = replace(WAKEUPS, together=True)
    pooled, one, two = (judging.judge(q, when) for q in criteria.ask(records, [together, WAKEUPS]))
    assert pooled.cost_ratio == pytest.approx(math.sqrt(0.22), rel=0.01)
    assert [pooled.fails, one.fails, two.fails] == [False, False, True]


def test_a_question_whose_cost_fell_cannot_fail_and_is_settled_however_noisy_it_is() -> None:
    noise = [1.0, 2.0, 0.5] * 3 + [1.0]
    judgement, alone = judge(
        counted("s", wakeups=noise, steady=0.5), WAKEUPS, replace(WAKEUPS, alone=True)
    )
    assert (judgement.verdict, alone.verdict) == (Verdict.EXCUSED, Verdict.INCONCLUSIVE)
    assert (judgement.settled, judgement.is_open, judgement.hopeless) == (True, False, False)
    assert alone.is_open


def test_a_rise_waits_for_the_rounds_that_would_show_that_its_cost_fell() -> None:
    # A fifth less in the mean, but six rounds cannot show it.
    falls = [0.6, 1.05, 0.85] * 2

    def found(steady: list[float], most_rounds: int = 30) -> Judgement:
        record = counted("s", wakeups=2.0, steady=[*steady, *[1.0] * 7])
        record.measurements = [run for run in record.measurements if run.round <= len(steady)]
        return judge(record, WAKEUPS, most_rounds=most_rounds)[0]

    waiting = found(falls)
    assert (waiting.fails, waiting.excusable, waiting.settled) == (True, True, False)
    assert found([0.5] * 6).verdict is Verdict.EXCUSED
    over = found(falls, most_rounds=6)
    assert (over.fails, over.excusable, over.settled) == (True, False, True)
    unmoved = found([0.9, 1.1, 1.0] * 2)
    assert (unmoved.fails, unmoved.excusable) == (True, False)


def test_a_rise_below_the_floor_never_fails() -> None:
    base = rounds(1, 0.010)
    assert judge(record_of(base, scaled(base, system=2)), SYSTEM)[0].fails
    (judgement,) = judge(record_of(base, scaled(base, system=2)), FLOOR)
    assert (judgement.verdict, judgement.fails) == (Verdict.BELOW_FLOOR, False)
    base = rounds(1, 0.030)
    assert judge(record_of(base, scaled(base, system=2)), FLOOR)[0].fails


def test_a_rise_must_be_certainly_above_the_floor_to_fail() -> None:
    record = make_record({"a": [times(1, 1, 0.25)] * 6, "b": [times(1, 1, 0.5)] * 6})
    assert judge(record, replace(SYSTEM, floor=0.2499))[0].fails
    assert not judge(record, replace(SYSTEM, floor=0.25))[0].fails


def test_what_the_rounds_left_would_hardly_settle_is_given_up() -> None:
    margin = math.log(1.1)

    def found(count: int, most_rounds: int, centre: float = margin) -> Judgement:
        return judge(scattered(centre, count), ALONE, most_rounds=most_rounds)[0]

    assert not found(3, 10).hopeless, "three rounds hardly say how noisy it is"
    given_up = found(8, 10)
    assert (given_up.hopeless, given_up.settled) == (True, True)
    assert given_up.is_open, "it is given up, not answered"
    assert not found(8, 100).hopeless, "a hundred rounds would do"
    assert not found(8, 8).hopeless, "there is nothing left to save"
    assert not found(8, 10, margin + 0.3).hopeless, "so far off that the rounds left would do"
    assert not found(8, 10, margin - 0.3).hopeless


@pytest.mark.parametrize("slower", [True, False])
@pytest.mark.parametrize(("share", "hopeless"), [(0.98, True), (1.02, False)])
def test_hope_is_that_the_centre_may_move_as_far_as_is_likely_until_the_end(
    slower: bool, share: float, hopeless: bool
) -> None:
    count, last, hypotheses = 6, 10, 4
    standard_error = 0.1 / math.sqrt(5)
    # After ten rounds, of which the first and the last are cut: seven degrees of freedom.
    errors = sequential.errors_at(last, hypotheses)
    error = errors.alarm if slower else errors.clear
    half = standard_error * math.sqrt(count / last) * stats.t.ppf(1 - error, 7)
    reach = standard_error * math.sqrt(1 - count / last) * stats.t.ppf(0.975, count - 1)
    distance = share * (half - reach) * (1 if slower else -1)
    record = scattered(math.log(1.1) + distance, count)
    (judgement,) = judge(record, ALONE, hypotheses=hypotheses, most_rounds=last)
    assert (judgement.verdict, judgement.hopeless) == (Verdict.INCONCLUSIVE, hopeless)


def test_astronomic_bounds_stay_numbers_that_files_can_hold() -> None:
    record = make_record({
        "a": [times(1, 0, 1)] * 3,
        "b": [times(1, 0, value) for value in (1e-3, 1e6, 1e-3)],
    })  # fmt: skip
    (judgement,) = judge(record, ALONE)
    assert judgement.high == pytest.approx(1e9)
    assert (judgement.low, judgement.would_have_found) == (None, None)


def test_the_supported_margin_is_the_upper_bound_of_what_did_not_change() -> None:
    judgement = Judgement(
        place="s", scenarios=("s",), label="l", criterion=CPU, ratio=1.2, low=0.8, high=1.5
    )
    assert judgement.supported_margin == pytest.approx(0.25)
    assert replace(judgement, ratio=None).supported_margin is None
    assert replace(judgement, high=None).supported_margin is None


def test_what_would_have_been_found_is_found_nineteen_times_of_twenty() -> None:
    (judgement,) = judge(scattered(0.0, 30), CPU, most_rounds=30)
    assert judgement.would_have_found is not None
    errors = sequential.errors_at(30, 1)
    logs = [0.1, -0.1] * 15
    found = sequential.bounds(logs, errors)
    half = found.centre - found.low
    rise = math.log1p(judgement.would_have_found)
    assert rise == pytest.approx(math.log(1.1) + half + 1.645 * found.standard_error)
    # The centre of another such series falls short of the rise by this much once in twenty.
    short = stats.norm.ppf(0.05) * found.standard_error
    assert rise + short - half == pytest.approx(math.log(1.1), abs=1e-4)


def test_rounds_between_looks_do_not_count_yet() -> None:
    later = [*rounds(1, 0.5, 6), (9.0, 9.0)]
    (judgement,) = judge(record_of(rounds(1, 0.5, 7), later), CPU, most_rounds=20)
    assert judgement.rounds == 6
    assert judgement.ratio == pytest.approx(1)


def test_an_explanation_whose_cost_was_not_measured_stands_alone() -> None:
    (judgement,) = judge(counted("s", wakeups=1.2), WAKEUPS)
    assert (judgement.fails, judgement.cost, judgement.settled) == (True, None, True)


def test_nothing_fails_before_the_sixth_round() -> None:
    five, six = (judge(of_ratios([1.0] * count), CPU)[0] for count in (5, 6))
    assert (five.verdict, five.low) == (Verdict.INCONCLUSIVE, None)
    assert six.verdict is Verdict.SLOWER

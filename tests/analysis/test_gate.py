"""The gate's answer over all scenarios."""

import math
from dataclasses import replace

import pytest
from msgspec import structs

from tests.criteria import parse
from tests.gate_runs import counted, record_of, rounds, scaled, sides, verdict_of, waiting
from tests.records import disturb, make_record, measurement, outcome, times
from waitbench.analysis import gate
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.judging import Judgement, make_question
from waitbench.model.errors import ExitCode
from waitbench.model.metrics import METRICS
from waitbench.model.record import ScenarioResults
from waitbench.model.run import FAILED
from waitbench.model.verdicts import GateStatus, Verdict

CRITERIA = parse(["system:10%", "cpu:10%"], METRICS)
SYSTEM, CPU = CRITERIA
SAME = rounds(1, 0.5, 18)


def defaults(*records: ScenarioResults) -> gate.GateVerdict:
    return gate.conclude(records, DEFAULTS)


def test_a_quarter_more_cpu_while_waiting_is_found_though_start_up_hides_it_in_the_total() -> None:
    # 0.081 to 0.101 s of a run's 0.29 s: the whole run's CPU rose by 7 %.
    names = ("partitioned-long-input", "dynamic-long-input")
    records = [waiting(name, idle=1.25, cpu=1.07) for name in names]
    assert not verdict_of(*records, criteria=["cpu:10%"]).failures
    failure = defaults(*records).failures[0]
    assert (failure.criterion.metric.name, failure.scenarios) == ("idle", names)
    # So is a rise of one tenth in a component of idle CPU.
    for metric in ("wakeups", "syscalls"):
        records = [waiting(name, **{metric: 1.1}) for name in ("a", "b")]
        (failure,) = defaults(*records).failures
        assert failure.criterion.metric.name == metric


def test_the_fix_that_parks_instead_of_spinning_passes_and_its_reversal_fails() -> None:
    # v0.16.0 to v0.16.1: a few wake-ups become thousands while CPU time falls twentyfold.
    names = ("partitioned-long-input", "dynamic-long-input")
    fixed = defaults(*(
        waiting(name, wakeups=300.0, syscalls=200.0, idle=0.05, idle_system=4.0, cpu=0.1)
        for name in names
    ))  # fmt: skip
    assert not fixed.failures
    assert not fixed.answers(Verdict.INCONCLUSIVE)
    excused = {j.criterion.metric.name for j in fixed.judgements if j.verdict is Verdict.EXPLAINED}
    assert excused == {"wakeups", "syscalls", "idle-system"}
    undone = defaults(*(
        waiting(name, wakeups=1 / 300, syscalls=1 / 200, idle=20.0, idle_system=0.25, cpu=10.0)
        for name in names
    ))  # fmt: skip
    assert {j.criterion.metric.name for j in undone.failures} == {"idle", "cpu"}
    assert undone.exit_code is ExitCode.REGRESSION


def test_all_questions_share_the_error_of_an_alarm_and_only_of_that() -> None:
    base = rounds(1, 0.5)
    records = [record_of(base, scaled(base[::-1], 1.02), name) for name in ("one", "two")]
    criteria = parse(["system:10%,each", "cpu:10%,each"], METRICS)
    both = gate.conclude(records, criteria)
    verdict_of_one = gate.conclude(records[:1], criteria)
    assert {j.scenario for j in both.judgements} == {"one", "two"}
    of_both, of_one = both.judgements[0].ratio, verdict_of_one.judgements[0].ratio
    assert of_both is not None
    assert of_one is not None
    assert (of_both.low or math.inf) < (of_one.low or 0.0)
    assert of_both.high == of_one.high


def test_nothing_is_asked_of_what_a_candidate_does_not_support() -> None:
    runs = [times(1, 1, 1)] * 3
    lacking, whole = (
        make_record({"a": runs, "c": of_c, "b": runs}, scenario=name)
        for name, of_c in (("s", []), ("t", runs))
    )
    lacking.add(outcome("c", 0, "not-supported"))
    lacking.add(outcome("b", 1, "failed"))
    verdict = gate.conclude([lacking, whole], parse(["system:10%,each"], METRICS))
    questions = {(j.revision, j.scenario) for j in verdict.judgements}
    assert questions == {("b", "s"), ("c", "t"), ("b", "t")}
    assert verdict.not_asked == (("c in s", gate.LOST),)
    assert verdict.outcome is GateStatus.NOT_MEASURED, "a capability was lost"


def test_where_the_baseline_lacks_it_no_candidate_is_judged() -> None:
    runs = [times(1, 1, 1)] * 3
    record = make_record({"a": [], "c": runs, "b": runs})
    record.add(outcome("a", 0, "not-supported"))
    verdict = gate.conclude([record], CRITERIA)
    assert verdict.judgements == ()
    assert verdict.not_asked == (("a in waiting", gate.UNSUPPORTED),)
    assert verdict.outcome is GateStatus.NOT_MEASURED, "nothing could be asked"
    assert verdict.exit_code is ExitCode.FAILED


@pytest.mark.parametrize("ends", ["a", "b"])
def test_of_a_worker_that_ends_where_it_may_nothing_is_asked_there(ends: str) -> None:
    runs = [times(1, 1, 1)] * 3
    gone = make_record({"a": runs, "b": runs} | {ends: []}, scenario="gone")
    gone.add(outcome(ends, 1, "ended"))
    whole = make_record({"a": runs, "b": runs}, scenario="whole")
    verdict = gate.conclude([gone, whole], CRITERIA)
    assert {j.scenarios for j in verdict.judgements} == {("whole",)}
    assert verdict.not_asked == ((f"{ends} in gone", "ended"),)
    assert (verdict.failed_runs, gone.failures) == ((), [])
    assert gone.why_given_up(ends) is not None, "it is not tried again"


def test_what_was_measured_of_a_worker_that_ends_later_is_judged() -> None:
    runs = [times(1, 1, 1)] * 3
    record = make_record({"a": runs, "b": runs})
    record.add(outcome("b", 4, "ended"))
    verdict = gate.conclude([record], CRITERIA)
    assert [j.rounds for j in verdict.judgements] == [3] * len(CRITERIA)
    assert verdict.not_asked == ()


def judgement(label: str, *scenarios: str, **known: object) -> Judgement:
    records = [make_record({}, scenario=name) for name in scenarios]
    start = replace(make_question(CPU, label, records), rounds=3)
    return replace(start, **known)  # type: ignore[arg-type]


def test_what_is_open_wants_more_rounds_until_its_last_look() -> None:
    wanting = judgement("b", "s")
    answered = judgement("b", "s", verdict=Verdict.WITHIN_MARGIN)
    ended, lacking = (
        judgement("b", "s", rounds=30),
        judgement("b", "s", verdict=Verdict.NOT_MEASURED, why_given_up="b failed"),
    )
    excused = judgement("b", "s", verdict=Verdict.EXPLAINED)
    assert gate.unsettled([]) == ()
    assert gate.unsettled([answered, ended, lacking, excused, wanting]) == (wanting,)


def test_where_a_candidate_has_failed_nothing_more_need_be_known_of_it() -> None:
    failed = judgement("b", "s", verdict=Verdict.SLOWER)
    elsewhere, other = judgement("b", "t", rounds=0), judgement("c", "s")
    after_a_round = judgement("b", "t", rounds=1)
    asked = [failed, judgement("b", "s"), elsewhere, after_a_round, other]
    assert gate.unsettled(asked) == (elsewhere, other)
    assert gate.unsettled([after_a_round]) == (after_a_round,)
    # Nor of several scenarios together, if it has failed in one of them; and the other way round.
    assert gate.unsettled([failed, judgement("b", "s", "t"), elsewhere]) == (elsewhere,)
    pooled = judgement("b", "s", "t", verdict=Verdict.SLOWER)
    assert gate.unsettled([pooled, judgement("b", "s"), elsewhere]) == ()


def crashing(*, failed: int = 5, measured: int = 0) -> ScenarioResults:
    """A candidate that crashes in so many runs after the first so many."""
    same = times(1, 1, 1)
    record = make_record({"base": [same] * max(5, measured), "new": [same] * measured})
    for number in range(measured + 1, measured + 1 + failed):
        record.add(outcome("new", number, FAILED, message="exit code 1"))
    return record


@pytest.mark.parametrize(
    ("failed", "of_both", "again", "outcome"),
    [
        (5, False, False, GateStatus.NOT_MEASURED),
        (5, False, True, GateStatus.NOT_MEASURED),
        (5, True, True, GateStatus.PASS),
        (2, False, True, GateStatus.PASS),
    ],
)
def test_failed_runs_let_nothing_pass_unless_few_or_of_both_and_made_again(
    failed: int, of_both: bool, again: bool, outcome: GateStatus
) -> None:
    record = crashing(measured=18, failed=failed)
    for failure in tuple(record.failed_runs):
        if of_both:
            record.add(structs.replace(failure, label="base"))
        for label in ("base", "new") if again else ():
            record.add(measurement(label, failure.round, times(1, 1, 1)))
    verdict = gate.conclude([record], [CPU])
    assert verdict.judgements[0].verdict is Verdict.WITHIN_MARGIN
    assert verdict.outcome is outcome


@pytest.mark.parametrize("at", ["2026-01-02T00:00:00+00:00", "2025-12-31T00:00:00+00:00"])
def test_an_alarm_outlasts_a_resume_that_makes_a_failed_round_again(at: str) -> None:
    """Even if the clock was set back meanwhile."""
    (idle,) = parse(["idle:10%"], METRICS)
    records = []
    rising = [1 + number / 1000 for number in range(10)]
    for name in "ab":
        record = sides("idle", rising, [1.2 * cost for cost in rising], name)
        record.measurements = [run for run in record.measurements if run.round != 2]
        records.append(record)
    (before,) = gate.conclude(records, [idle]).judgements
    for record in records:
        for label in ("base", "new"):
            again = measurement(label, 2, {idle.metric.key: 1.0})
            record.add(structs.replace(again, started_at=at))
    (after,) = gate.conclude(records, [idle]).judgements
    assert (before.verdict, before.rounds) == (Verdict.SLOWER, 9)
    assert after == before


def test_a_failure_is_a_failure_though_other_questions_were_not_measured() -> None:
    base = rounds(1, 0.5)
    risen = record_of(base, scaled(base, 2.0), "risen")
    each = parse(["cpu:10%,each"], METRICS)
    verdict = gate.conclude([risen, crashing()], each)
    assert verdict.exit_code is ExitCode.REGRESSION
    assert len(verdict.answers(Verdict.NOT_MEASURED)) == 1


@pytest.mark.parametrize(
    ("record", "criterion", "marked", "verdict"),
    [
        # Up to the first look at which it passes.
        (record_of(SAME, SAME[::-1]), "cpu:10%", 9, Verdict.WITHIN_MARGIN),
        (record_of(SAME, SAME[::-1]), "cpu:10%", 10, Verdict.INCONCLUSIVE),
        # They take back no alarm, as the candidate may have disturbed them, and excuse nothing.
        (record_of(SAME, scaled(SAME, 2.0)), "cpu:10%", 18, Verdict.SLOWER),
        (counted("s", wakeups=1.5, idle=0.5), "wakeups:5%", 18, Verdict.INCONCLUSIVE),
    ],
)
def test_rounds_most_of_which_were_disturbed_do_not_pass(
    record: ScenarioResults, criterion: str, marked: int, verdict: Verdict
) -> None:
    marks = disturb(structs.replace(record), *range(1, marked + 1))
    (judgement,) = gate.conclude([marks], parse([criterion], METRICS)).judgements
    assert (judgement.verdict, judgement.disturbed) == (verdict, marked)


def test_rare_bad_runs_fail_though_the_usual_run_is_the_same_unless_both_have_them() -> None:
    """A spin in one run of five, in two scenarios."""
    spin = [15.0 if number % 5 == 0 else 1.0 for number in range(30)]
    usual = [1.0] * 30
    verdict = defaults(*(sides("idle", usual, spin, name) for name in "ab"))
    (failure,) = verdict.failures
    assert failure.by_outliers
    assert failure.outliers is not None
    assert (failure.outliers.candidate, failure.outliers.baseline) == (12, 0)
    assert failure.mean_ratio is not None
    assert failure.mean_ratio > 3
    assert defaults(*(sides("idle", spin, spin, name) for name in "ab")).failures == ()


@pytest.mark.parametrize("each", [5, 10])
def test_rare_runs_beside_which_others_use_seconds_of_cpu_do_not_pass(each: int) -> None:
    new = [10.0 if number % each == 3 else 0.05 for number in range(30)]
    records = [sides("foreign-cpu", [0.05] * 30, new, name) for name in "ab"]
    foreign = [criterion for criterion in DEFAULTS if criterion.metric.name == "foreign-cpu"]
    assert gate.conclude(records, foreign).outcome is GateStatus.INCONCLUSIVE


def test_a_machine_that_others_use_all_the_time_is_given_up() -> None:
    base = rounds(1, 0.5, 10)
    calm = record_of(base, base)
    assert not gate.is_too_disturbed([disturb(calm, *range(1, 9))])
    assert gate.is_too_disturbed([disturb(record_of(base, base), *range(1, 10))])
    verdict = gate.conclude([disturb(calm, *range(1, 9))], [CPU])
    assert verdict.outcome is GateStatus.INCONCLUSIVE


def test_a_regression_in_a_single_scenario_fails_before_the_machine_is_given_up() -> None:
    fix, spin = [0.021, 0.022, 0.023] * 3, [0.37, 0.38, 0.39] * 3
    for last in range(1, 10):
        record = disturb(sides("idle", fix[:last], spin[:last]), *range(1, last + 1))
        assert gate.is_too_disturbed([record]) == (last == 9)
    assert gate.conclude([record], DEFAULTS).outcome is GateStatus.FAIL


def test_it_is_not_given_up_for_rounds_that_only_the_candidate_can_have_disturbed() -> None:
    """In every other round the baseline's run came after that of a candidate."""
    base = rounds(1, 0.5)
    record = record_of(base, base)
    record.measurements[:] = [
        structs.replace(run, position=(run.position + run.round) % 2) for run in record.measurements
    ]
    after_the_candidate = range(1, 20, 2)
    assert not gate.is_too_disturbed([disturb(record, *after_the_candidate, 2)])
    assert gate.is_too_disturbed([disturb(record, *range(1, 21))])


def test_a_gate_without_any_round_does_not_pass_even_if_inconclusive_answers_do() -> None:
    record = make_record({"a": [], "b": []})
    verdict = gate.conclude([record], CRITERIA, inconclusive_passes=True)
    assert verdict.judgements
    assert (verdict.outcome, verdict.exit_code) == (GateStatus.NOT_MEASURED, ExitCode.FAILED)


def test_a_share_of_disturbed_rounds_just_above_half_is_not_rounded_down() -> None:
    first, second = (record_of(SAME[:12], SAME[11::-1], name) for name in "ab")
    disturb(first, *range(1, 7))
    disturb(second, *range(1, 8))
    (judgement,) = gate.conclude([first, second], parse(["cpu:10%"], METRICS)).judgements
    assert (judgement.verdict, judgement.disturbed) == (Verdict.INCONCLUSIVE, 6.5)

"""The gate's answer over all scenarios."""

import pytest

from tests.gate_runs import noisy, record_of, rounds, scaled, verdict_of
from tests.records import make_record, outcome, times
from waitbench.analysis import criteria, gate
from waitbench.analysis.statistics import Verdict
from waitbench.model.errors import ExitCode
from waitbench.model.metrics import METRICS

CRITERIA = criteria.parse(["system:10%", "cpu:10%"], METRICS)


def test_a_rise_fails_and_a_fall_passes() -> None:
    base = rounds(1, 0.5)
    risen = verdict_of(record_of(base, scaled(base, system=1.5)), "system:10%")
    assert risen.exit_code is ExitCode.REGRESSION
    assert risen.failures == risen.judgements
    fallen = verdict_of(record_of(base, scaled(base, 0.1, 0.1)), "system:10%", "cpu:10%")
    assert {judgement.verdict for judgement in fallen.judgements} == {Verdict.FASTER}
    assert fallen.exit_code is ExitCode.OK


def test_unclear_fails_only_when_strict() -> None:
    record = record_of(rounds(1, 0.5, 5), noisy(5))
    lenient = verdict_of(record, "system:10%", "cpu:100%", most_rounds=5)
    assert [judgement.verdict.value for judgement in lenient.judgements] == ["unclear", "same"]
    assert (lenient.failures, lenient.exit_code) == ((), ExitCode.OK)
    strict = verdict_of(record, "system:10%", "cpu:100%", most_rounds=5, strict=True)
    assert strict.failures == strict.judgements[:1]
    assert (strict.strict, strict.exit_code) == (True, ExitCode.REGRESSION)


@pytest.mark.parametrize(
    ("scenarios", "candidates", "expected"), [(8, 1, 16), (2, 3, 12), (0, 0, 1)]
)
def test_hypotheses_are_scenarios_by_candidates_by_criteria(
    scenarios: int, candidates: int, expected: int
) -> None:
    assert gate.count_hypotheses(scenarios, candidates, CRITERIA) == expected


def test_all_scenarios_share_the_error() -> None:
    base = rounds(1, 0.5)
    records = [record_of(base, scaled(base[::-1], 1.02), name) for name in ("one", "two")]
    both = gate.conclude(records, CRITERIA, 10, strict=False)
    one = gate.conclude(records[:1], CRITERIA, 10, strict=False)
    assert (one.hypotheses, both.hypotheses) == (2, 4)
    assert [j.scenario for j in both.judgements] == ["one", "one", "two", "two"]
    assert both.judgements[0].high is not None
    assert one.judgements[0].high is not None
    assert both.judgements[0].high > one.judgements[0].high
    assert (both.criteria, both.most_rounds) == (CRITERIA, 10)


def test_the_record_with_the_most_candidates_sets_the_hypotheses() -> None:
    runs = [times(1, 1, 1)] * 3
    records = [make_record({"a": runs, "b": runs}), make_record({"a": runs, "b": runs, "c": runs})]
    assert gate.conclude(records, CRITERIA, 10, strict=False).hypotheses == 8
    assert gate.conclude([], CRITERIA, 10, strict=False).hypotheses == 1


def test_a_candidate_that_lacks_what_a_scenario_needs_is_not_judged_in_it() -> None:
    runs = [times(1, 1, 1)] * 3
    lacking, whole = (
        make_record({"a": runs, "c": runs, "b": runs}, scenario=name) for name in ("s", "t")
    )
    lacking.add(outcome("c", 0, "not-supported"))
    lacking.add(outcome("b", 1, "failed"))
    verdict = gate.conclude([lacking, whole], CRITERIA[:1], 10, strict=False)
    assert [(j.label, j.scenario) for j in verdict.judgements] == [
        ("b", "s"), ("c", "t"), ("b", "t"),
    ]  # fmt: skip
    assert verdict.unsupported == ("c in s",)


def test_where_the_baseline_lacks_it_no_candidate_is_judged() -> None:
    runs = [times(1, 1, 1)] * 3
    record = make_record({"a": [], "c": runs, "b": runs})
    record.add(outcome("a", 0, "not-supported"))
    verdict = gate.conclude([record], CRITERIA, 10, strict=True)
    assert verdict.judgements == ()
    assert verdict.unsupported == ("b in waiting", "c in waiting")
    assert verdict.exit_code is ExitCode.OK


def test_disturbed_runs_of_all_scenarios_are_counted() -> None:
    runs = [times(1, 1, 1)] * 3
    records = [make_record({"a": runs, "b": runs}) for _ in range(2)]
    for record in records:
        record.add(outcome("a", 1, "disturbed"))
        record.add(outcome("a", 1, "failed"))
        record.add(outcome("b", 1, "failed"))
    assert gate.conclude(records, CRITERIA, 10, strict=False).disturbed_runs == 2

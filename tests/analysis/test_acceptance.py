"""Regressions that a project accepts for a time."""

from dataclasses import replace

import pytest

from tests.gate_runs import record_of, rounds, scaled
from tests.records import make_record, times
from waitbench.analysis import gate
from waitbench.analysis.acceptance import Acceptance
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.verdicts import GateOutcome, Verdict
from waitbench.model.metrics import METRICS
from waitbench.pipeline.criteria import parse

CRITERIA = parse(["system:10%", "cpu:50%"], METRICS)
ENTRY = Acceptance(
    criterion="system:10%", scenario="wait*", reason="It does more.", until="2027-03-31"
)
BASE = rounds(1, 0.5)


def verdict(*acceptances: Acceptance) -> GateVerdict:
    """Of a comparison whose system time rose by half."""
    record = record_of(BASE, scaled(BASE, system=1.5))
    return gate.conclude([record], CRITERIA, 10, acceptances=acceptances)


@pytest.mark.parametrize(
    ("changes", "is_accepted"),
    [
        ({}, True),
        ({"criterion": "system"}, True),
        ({"criterion": "system:20%"}, False),
        ({"criterion": "cpu"}, False),
        ({"scenario": "other"}, False),
        ({"at_most": 0.6}, True),
        ({"at_most": 0.4}, False),
        ({"is_over": True}, False),
    ],
)
def test_what_an_entry_is_about_does_not_fail_and_all_else_does(
    changes: dict[str, object], is_accepted: bool
) -> None:
    found = verdict(replace(ENTRY, **changes))  # type: ignore[arg-type]
    assert found.outcome is (GateOutcome.PASS if is_accepted else GateOutcome.FAIL)
    assert bool(found.accepted) is is_accepted
    assert {one.verdict for one in found.judgements} == {Verdict.SLOWER, Verdict.WITHIN_MARGIN}


def test_no_bound_accepts_dear_runs_which_have_none() -> None:
    dear = [times(1, 10 if number % 3 == 0 else 1, 0) for number in range(30)]
    record = make_record({"a": [times(1, 1, 0)] * 30, "b": dear})
    cpu = parse(["cpu:10%"], METRICS)
    entry = replace(ENTRY, criterion="cpu:10%", at_most=0.2)
    found = gate.conclude([record], cpu, 30, acceptances=(entry,))
    assert [one.by_dear_runs for one in found.failures] == [True]


def test_the_bound_of_a_rise_with_a_floor_is_that_to_the_baseline() -> None:
    # Four times as much is 1.78 times what is allowed.
    record = make_record({"a": [times(1, 0.1, 0)] * 30, "b": [times(1, 0.4, 0)] * 30})
    cpu = parse(["cpu:25%,100ms"], METRICS)
    entry = replace(ENTRY, criterion="cpu", at_most=1.0)
    assert gate.conclude([record], cpu, 30, acceptances=(entry,)).failures


def test_a_candidate_whose_regression_is_accepted_is_measured_on() -> None:
    record = record_of(BASE[:11], scaled(BASE[:11], system=1.5))
    noisy = parse(["system:10%", "real:0.001%"], METRICS)
    wanting = []
    for acceptances in ((), (ENTRY,)):
        judged = gate.judge_all([record], noisy, acceptances=acceptances)
        assert any(one.fails for one in judged) is not bool(acceptances)
        wanting.append(
            len(gate.unsettled([replace(judged[1], verdict=Verdict.INCONCLUSIVE), judged[0]]))
        )
    assert wanting == [0, 1]


NOISY = [1.2, 2.13, 1.6, 1.21, 2.12, 1.61, 1.22, 2.11, 1.59, 1.23, 2.1]
"""Ratios that are certainly beyond a tenth, and not certainly beyond four tenths."""


@pytest.mark.parametrize(
    ("ratios", "at_most", "fails", "settled"),
    [
        (NOISY, None, False, True),
        (NOISY, 0.4, False, False),
        ([*NOISY, *[1.6] * 19], 0.4, True, True),
        ([1.3 + number / 1000 for number in range(11)], 0.4, False, True),
    ],
)
def test_the_bound_of_a_rise_is_that_of_all_rounds_and_not_of_the_first_alarm(
    ratios: list[float], at_most: float | None, fails: bool, settled: bool
) -> None:
    runs = {"a": [1.0] * len(ratios), "b": ratios}
    record = make_record({of: [times(1, cost, 0) for cost in runs[of]] for of in runs})
    entry = replace(ENTRY, criterion="cpu", at_most=at_most)
    (found,) = gate.judge_all([record], parse(["cpu:10%"], METRICS), acceptances=[entry])
    assert (found.fails, found.settled) == (fails, settled)


def test_a_question_about_several_scenarios_is_covered_if_all_match() -> None:
    together = parse(["system:10%"], METRICS)
    records = [record_of(BASE, scaled(BASE, system=1.5), scenario=name) for name in ("a1", "a2")]
    for pattern, outcome in (("a*", GateOutcome.PASS), ("a1", GateOutcome.FAIL)):
        entry = replace(ENTRY, criterion="system:10%", scenario=pattern)
        assert gate.conclude(records, together, 10, acceptances=[entry]).outcome is outcome

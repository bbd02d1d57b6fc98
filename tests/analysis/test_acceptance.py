"""Regressions that a project accepts for a time."""

from dataclasses import replace
from datetime import date

import pytest
from msgspec import structs

from tests.criteria import parse
from tests.gate_runs import record_of, rounds, scaled
from waitbench.analysis import gate
from waitbench.analysis.criteria import Acceptance
from waitbench.analysis.gate import GateVerdict
from waitbench.model.metrics import METRICS
from waitbench.model.verdicts import GateStatus, Verdict

CRITERIA = parse(["system:10%", "cpu:50%"], METRICS)
ENTRY = Acceptance(
    criterion="system:10%", scenario="wait*", reason="It does more.", until=date(2027, 3, 31)
)
BASE = rounds(1, 0.5)


def verdict(*acceptances: Acceptance) -> GateVerdict:
    """The verdict on a rise of system time by half."""
    record = record_of(BASE, scaled(BASE, system=1.5))
    return gate.conclude([record], CRITERIA, acceptances=acceptances)


@pytest.mark.parametrize(
    ("changes", "is_accepted"),
    [
        ({}, True),
        ({"criterion": "system"}, True),
        ({"criterion": "system:20%"}, False),
        ({"criterion": "cpu"}, False),
        ({"scenario": "other"}, False),
    ],
)
def test_what_an_entry_is_about_does_not_fail_and_all_else_does(
    changes: dict[str, object], is_accepted: bool
) -> None:
    result = verdict(structs.replace(ENTRY, **changes))
    assert result.outcome is (GateStatus.PASS if is_accepted else GateStatus.FAIL)
    assert bool(result.accepted) is is_accepted
    assert {it.verdict for it in result.judgements} == {Verdict.SLOWER, Verdict.WITHIN_MARGIN}


def test_a_candidate_whose_regression_is_accepted_is_measured_on() -> None:
    record = record_of(BASE[:11], scaled(BASE[:11], system=1.5))
    noisy = parse(["system:10%", "real:0.001%"], METRICS)
    wanting = []
    for acceptances in ((), (ENTRY,)):
        judged = gate.judge_all([record], noisy, acceptances=acceptances)
        assert any(it.fails for it in judged) is not bool(acceptances)
        wanting.append(
            len(gate.unsettled([replace(judged[1], verdict=Verdict.INCONCLUSIVE), judged[0]]))
        )
    assert wanting == [0, 1]


def test_a_question_about_several_scenarios_is_covered_if_all_match() -> None:
    together = parse(["system:10%"], METRICS)
    records = [record_of(BASE, scaled(BASE, system=1.5), scenario=name) for name in ("a1", "a2")]
    for pattern, outcome in (("a*", GateStatus.PASS), ("a1", GateStatus.FAIL)):
        entry = structs.replace(ENTRY, criterion="system:10%", scenario=pattern)
        assert gate.conclude(records, together, acceptances=[entry]).outcome is outcome

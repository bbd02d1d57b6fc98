"""The table over all scenarios."""

import pytest

from tests.records import contestant, disturb, make_record, outcome, times
from tests.reporting.printing import lines_of
from waitbench.analysis import statistics
from waitbench.analysis.statistics import Comparison
from waitbench.model.record import Record
from waitbench.reporting import summary


def runs(steady: float, real: float = 1.0, system: float = 0.5) -> list[dict[str, float]]:
    return [{**times(real, 1, system), "time_cpu_steady": steady * (1 + i / 100)} for i in range(4)]


def compare(*records: Record) -> list[Comparison]:
    return [statistics.compare(record) for record in records]


def printed(*records: Record, width: int = 80) -> list[str]:
    return lines_of(lambda console: summary.print_summary(compare(*records), console), width)


def test_one_candidate_has_a_line_for_each_scenario() -> None:
    quick = make_record({"old": runs(2), "new": runs(0.1, real=1.5, system=1)}, scenario="quick")
    same = make_record({"old": runs(2), "new": runs(2)}, scenario="another-scenario")
    assert printed(quick, same) == [
        "all scenarios · new against old · judged by steady CPU",
        "scenario          steady CPU  system  real   verdict",
        "quick             × 0.05      × 2     × 1.5  faster",
        "another-scenario  × 1         × 1     × 1    within margin",
        "new against old in 2 scenarios: faster in 1, within margin in 1.",
        "",
    ]


def test_several_candidates_have_a_line_each() -> None:
    record = make_record({"old": runs(2), "new": runs(0.1), "newer": runs(4)})
    assert printed(record) == [
        "all scenarios · all against old · judged by steady CPU",
        "scenario  revision  steady CPU  system  real  verdict",
        "waiting   new       × 0.05      × 1     × 1   faster",
        "waiting   newer     × 2         × 1     × 1   slower",
        "new against old in 1 scenario: faster in 1.",
        "newer against old in 1 scenario: slower in 1.",
        "",
    ]


def test_where_the_steady_phase_is_not_known_total_cpu_is_judged_and_marked() -> None:
    record = make_record({"old": [times(1, 1, 1)] * 3, "new": [times(1, 3, 1)] * 3})
    assert printed(record)[2:4] == [
        "waiting   × 2*        × 1     × 1   slower",
        "* total CPU: the steady phase is not known, or not the same work.",
    ]


@pytest.mark.parametrize(
    ("label", "reason", "verdict"),
    [
        ("new", "not-supported", "not supported"),
        ("old", "not-supported", "not supported"),
        ("new", "failed", "not measured"),
    ],
)
def test_a_scenario_without_a_ratio_says_why(label: str, reason: str, verdict: str) -> None:
    record = make_record({"old": runs(1), "new": runs(1)})
    record.measurements = [run for run in record.measurements if run.label != label]
    record.add(outcome(label, 1, reason, message="why"))
    lines = printed(record, make_record({"old": runs(1), "new": runs(1)}))
    assert lines[2].split("  ")[-1].strip() == verdict
    assert lines[2].count("–") == 3
    assert lines[4] == f"new against old in 2 scenarios: within margin in 1, {verdict} in 1."


def test_a_verdict_of_disturbed_rounds_says_so() -> None:
    quiet = make_record({"old": runs(2), "new": runs(4)}, scenario="quiet")
    busy = make_record({"old": runs(2), "new": runs(4)}, scenario="busy")
    half = make_record({"old": runs(2), "new": runs(4)}, scenario="half")
    disturb(busy, 3)
    disturb(half, 2)
    lines = printed(quiet, busy, half)
    assert [line.split("  ")[-1].strip() for line in lines[2:5]] == ["slower", "slower†", "slower"]
    assert lines[5] == "† In most of these rounds the machine did something else, in every attempt."
    assert " ".join(lines[6:8]) == (
        "new against old in 3 scenarios: slower in 3 "
        "(in 1 the machine did something else in most rounds)."
    )
    assert summary.sentences(compare(quiet)) == ["new against old in 1 scenario: slower in 1."]


def test_a_baseline_alone_has_no_summary() -> None:
    assert printed(make_record({"old": runs(1)})) == []


@pytest.mark.parametrize("label", ["v0.16.1", "a-label-of-forty-characters-at-the-most-x", "[red]"])
@pytest.mark.parametrize("others", [[], ["third"]])
def test_the_table_fits_80_columns(label: str, others: list[str]) -> None:
    scenario = "partitions-with-a-long-input-and-a-heavy-map-too"
    labels = ["old", label, *others]
    record = make_record({name: runs(1) for name in labels}, scenario=scenario)
    lines = printed(record)
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if line.startswith("partitions-"))
    assert "-too " in row, "names keep their beginning and their end"
    if others:
        assert f" {label[:5]}" in row


def test_work_is_judged_by_total_cpu_where_engines_do_it_in_other_phases() -> None:
    revisions = (contestant("a", engine="one"), contestant("b", engine="two"))
    found = {
        "a": [{"time_cpu": 5.0, "time_cpu_steady": 4.9}] * 3,
        "b": [{"time_cpu": 5.0, "time_cpu_steady": 0.01}] * 3,
    }
    for waits, works, is_total in ((True, False, False), (False, True, True), (True, True, True)):
        record = make_record(found, waits=waits, revisions=revisions)
        record.works = works
        assert ("*" in printed(record)[2]) is is_total
    assert "*" not in printed(make_record(found, waits=False))[2]

"""One sentence for each candidate over all scenarios."""

from collections.abc import Sequence

from tests.records import contestant, disturb, make_record, times
from waitbench.analysis import statistics
from waitbench.model.record import Record
from waitbench.reporting import summary


def runs(steady: float) -> list[dict[str, float]]:
    return [{**times(1, 1, 0.5), "time_cpu_steady": steady * (1 + i / 100)} for i in range(4)]


def said(*records: Record) -> Sequence[str]:
    return summary.sentences([statistics.compare(record) for record in records])


def test_each_candidate_has_a_sentence_that_counts_its_verdicts() -> None:
    first = make_record({"old": runs(2), "new": runs(0.1), "newer": runs(4)})
    second = make_record({"old": runs(2), "new": runs(2), "newer": runs(4)})
    assert said(first, second) == [
        "new against old in 2 scenarios: faster in 1, within margin in 1.",
        "newer against old in 2 scenarios: slower in 2.",
    ]
    assert said(make_record({"old": runs(1)})) == []


def test_a_verdict_of_disturbed_rounds_is_counted_apart() -> None:
    quiet = make_record({"old": runs(2), "new": runs(4)}, scenario="quiet")
    busy = make_record({"old": runs(2), "new": runs(4)}, scenario="busy")
    disturb(busy, 3)
    assert said(quiet, busy) == [
        "new against old in 2 scenarios: slower in 2 "
        "(in 1 the machine did something else in most rounds)."
    ]
    assert said(quiet) == ["new against old in 1 scenario: slower in 1."]


def test_work_is_judged_by_total_cpu_where_engines_do_it_in_other_phases() -> None:
    revisions = (contestant("a", engine="one"), contestant("b", engine="two"))
    found = {
        "a": [{"time_cpu": 5.0, "time_cpu_steady": 4.9}] * 3,
        "b": [{"time_cpu": 5.0, "time_cpu_steady": 0.01}] * 3,
    }
    for waits, works, by in ((True, False, "steady"), (False, True, "cpu"), (True, True, "cpu")):
        record = make_record(found, waits=waits, revisions=revisions)
        record.works = works
        assert statistics.compare(record).rows[1].judged_by == by

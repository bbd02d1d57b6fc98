"""What to be wary of in a comparison, each once."""

from typing import Any

import pytest

from tests.records import contestant, facts, make_record, measurement, outcome, times
from waitbench.analysis import statistics
from waitbench.model.record import Record
from waitbench.model.run import BY_PROC
from waitbench.reporting import cautions


def warnings(record: Record) -> list[str]:
    return [word.text for word in cautions.warnings([statistics.compare(record)])]


def pair(**changes: Any) -> Record:
    return make_record({"a": [times(1, 1, 1)] * 2, "b": [times(1, 1, 1)] * 2}, **changes)


def test_without_anything_odd_there_is_no_warning() -> None:
    assert warnings(pair()) == []


def test_runs_without_a_measurement_are_counted_by_reason() -> None:
    record = pair()
    for reason, message in (("timed-out", ""), ("failed", "first"), ("failed", "exit code 1")):
        record.add(outcome("b", 1, reason, message=message))
    assert warnings(record) == [
        "b, 2 runs of waiting: failed: exit code 1",
        "b, 1 run of waiting: timed-out",
    ]


def test_identical_builds_and_mixed_origins_are_said() -> None:
    same = facts(extensions={"x.so": "same"}, package_sha256="same")
    revisions = (contestant("a", facts=same), contestant("b", facts=same))
    assert warnings(pair(revisions=revisions, mixed_origins=True)) == [
        "b is the same build as a: what differs is chance",
        "different compilers built these, and a difference may be theirs: leave out --origin mixed",
    ]


def test_rounds_that_are_left_out_and_those_that_were_disturbed_are_said() -> None:
    same = [times(1, 1, 1)] * 3
    record = make_record({"old": same, "new": same[:2]})
    for label in ("old", "new"):
        record.add(measurement(label, 4, times(1, 1, 1), marks=("disturbed",)))
    assert warnings(record) == [
        "1 of 3 rounds disturbed by other programs: repeat on an idle machine",
        "1 round is left out, as not every revision has a measurement there",
    ]


def test_other_packages_that_differ_are_said() -> None:
    old, new = (
        contestant(label, facts=facts(requirements=(f"json=={version}", "same==1")))
        for label, version in (("old", "3"), ("new", "4"))
    )
    runs = {"old": [times(1, 1, 1)] * 2, "new": [times(1, 1, 1)] * 2}
    assert warnings(make_record(runs, revisions=(old, new))) == [
        "other packages differ, too: json 3 (old), 4 (new): pin them, as in REVISION+NAME==VERSION"
    ]


@pytest.mark.parametrize(
    ("steady_s", "marks", "is_said"),
    [(0.06, (), True), (0.6, (), False), (0.06, (BY_PROC,), False)],
)
def test_what_wakes_up_for_little_is_said_to_pay_for_being_counted(
    steady_s: float, marks: tuple[str, ...], is_said: bool
) -> None:
    record = make_record({"a": []})
    for number in (1, 2):
        metrics = {"time_cpu_steady": steady_s, "wakeups": 25_000}
        record.add(measurement("a", number, metrics, marks=marks))
    said = "a wakes up for less than 10 µs at a time: being counted may raise its CPU by a third"
    assert any(said in one for one in warnings(record)) is is_said

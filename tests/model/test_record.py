"""Records: revisions that are given up, whole rounds, and the context."""

import pytest

from tests.records import facts, make_record, make_revision, measurement, outcome, times
from waitbench.model.record import GIVE_UP_AFTER, GIVE_UP_LATER_AFTER, ScenarioResults
from waitbench.model.revision import Origin
from waitbench.model.run import (
    DISTURBED,
    FAILED,
    LOST_ITEMS,
    NOT_BUILT,
    NOT_SUPPORTED,
    TIMED_OUT,
)

RUN = times(1, 1, 0)


def tried(measured: int, *reasons: str) -> ScenarioResults:
    """A revision that was measured in some rounds, and then was not."""
    record = make_record({"a": [], "b": [RUN] * measured})
    for number, reason in enumerate(reasons, measured + 1):
        record.add(outcome("b", number, reason, message="boom"))
    return record


@pytest.mark.parametrize(
    ("measured", "reasons", "given_up"),
    [
        (0, [], None),
        (0, [FAILED], None),
        (0, [FAILED] * GIVE_UP_AFTER, "b failed 2 times in a row: boom"),
        (0, [FAILED, LOST_ITEMS], "b failed 2 times in a row: boom"),
        (0, [DISTURBED] * 9, None),
        (3, [FAILED] * (GIVE_UP_LATER_AFTER - 1), None),
        (3, [FAILED] * GIVE_UP_LATER_AFTER, "b failed 5 times in a row: boom"),
        (0, [TIMED_OUT], "b hung: boom"),
        (3, [TIMED_OUT], "b hung: boom"),
        (0, [NOT_BUILT], "b was not built: boom"),
        (0, [NOT_SUPPORTED], "b is not supported: boom"),
    ],
)
def test_a_revision_is_given_up_where_trying_again_is_not_worth_it(
    measured: int, reasons: list[str], given_up: str | None
) -> None:
    record = tried(measured, *reasons)
    assert record.why_given_up("b") == given_up
    assert record.why_given_up("a") is None


def test_failures_before_a_good_run_or_in_an_earlier_session_are_forgiven() -> None:
    record = tried(0, FAILED, FAILED)
    record.add(measurement("b", 3, RUN))
    assert record.why_given_up("b") is None
    record = tried(0, TIMED_OUT)
    record.failed_before = 1
    assert record.why_given_up("b") is None


def test_a_round_is_whole_when_every_revision_that_can_be_was_measured_in_it() -> None:
    record = make_record({"a": [RUN] * 3, "b": [RUN]})
    record.add(outcome("b", 2, FAILED))
    record.add(outcome("b", 3, DISTURBED))
    assert [record.is_whole(number) for number in (1, 2, 3)] == [True, False, False]
    for reason, whole in ((NOT_BUILT, True), (NOT_SUPPORTED, True), (TIMED_OUT, False)):
        record = make_record({"a": [RUN] * 3, "b": []})
        record.add(outcome("b", 0, reason))
        assert record.is_whole(3) is whole, reason


def test_a_build_is_identical_only_to_one_with_the_same_files() -> None:
    digests = {"a": "1", "b": "2", "c": "1", "d": "1", "e": "", "f": ""}
    known = [
        make_revision(label, build=facts(package_sha256=sha)) for label, sha in digests.items()
    ]
    revisions = (*known, make_revision("g", build=None))
    record = make_record({it.label: [] for it in revisions}, revisions=revisions)
    twins = [record.identical_to(it.label) for it in revisions]
    assert twins == [None, None, "a", "a", None, None, None]


def test_a_program_is_identical_only_to_one_that_loads_the_same_and_is_called_the_same() -> None:
    """One file of all, be it a script or a program of several names, tells nothing."""
    programs = {
        "wrapper": ("/a/run", {"/bin/sh": "1", "/a/run": "2", "/a/real": "3"}),
        "other": ("/b/run", {"/bin/sh": "1", "/b/run": "2", "/b/real": "4"}),
        "copy": ("/c/run", {"/bin/sh": "1", "/c/run": "2", "/c/real": "3"}),
        "renamed": ("/c/walk", {"/bin/sh": "1", "/c/walk": "2", "/c/real": "3"}),
        "unknown": ("/d/run", {}),
    }
    revisions = [
        make_revision(label, origin=Origin.PROGRAM, build=facts(program=path, package_sha256="2"))
        for label, (path, _) in programs.items()
    ]
    record = make_record({label: [] for label in programs}, revisions=tuple(revisions))
    for label, (_, loaded) in programs.items():
        record.add(measurement(label, 1, RUN, loaded=loaded))
        record.add(measurement(label, 2, RUN))
    twins = {label: record.identical_to(label) for label in programs}
    assert twins == {**dict.fromkeys(programs), "copy": "wrapper"}

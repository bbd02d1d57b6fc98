"""Sessions of comparisons, their trends, and their change points."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.records import disturb, facts, make_record, make_revision, released, specify
from waitbench.features.history.sessions import HistorySession, history_revision, sessions_of
from waitbench.features.history.trends import most_measured, trends, unannounced
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import ScenarioResults
from waitbench.model.revision import Origin
from waitbench.store.comparisons import StoredComparison

STEADY = BY_NAME["idle"].key


def told_by(record: ScenarioResults, folder: str, *more: ScenarioResults) -> list[HistorySession]:
    """The sessions of idle CPU in a folder."""
    contents = StoredComparison(
        folder=Path(folder), comparison=record.context, records=(record, *more)
    )
    return list(sessions_of(contents, BY_NAME["idle"]))


def told(name: str, costs: dict[str, float], **changes: Any) -> list[HistorySession]:
    """The session of the idle CPU of some releases."""
    return told_by(released(costs, session=name, **changes), name)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"text": "v0.2.0", "origin": Origin.WHEEL}, "v0.2.0"),
        ({"text": "base=v0.2.0", "origin": Origin.WHEEL}, "v0.2.0"),
        # The same wheel: the index knows it by all of its numbers.
        ({"text": "v0.2", "origin": Origin.WHEEL}, "v0.2.0"),
        ({"text": "v0.2.0.0", "origin": Origin.WHEEL}, "v0.2.0"),
        # The same release, built here: its ratios within a session tell the same.
        ({"text": "base=0.2.0", "origin": Origin.SOURCE, "commit": "a" * 40}, "v0.2.0"),
        ({"text": "main", "origin": Origin.SOURCE, "commit": "a" * 40}, "a" * 10),
        # Anybody may have changed these.
        ({"text": "./x.whl", "origin": Origin.FILE}, None),
        ({"text": "./checkout", "origin": Origin.CHECKOUT, "commit": "a" * 40}, None),
        ({"text": "v0.2.0", "origin": Origin.WHEEL, "build": None}, None),
    ],
)
def test_revisions_are_recognised_by_release_or_commit(
    changes: dict[str, object], name: str | None
) -> None:
    revision = make_revision("x", **{"build": facts(package_version="0.2.0"), **changes})
    entry = history_revision(revision)
    assert (entry and entry.name) == name


def test_commits_stand_behind_the_release_whose_version_they_have() -> None:
    dates = ["2026-01-01T00:30:00+02:00", "2025-12-31T23:00:00Z", None]
    built = [
        make_revision(
            f"{number}", text="main", origin=Origin.SOURCE, commit=f"{number}" * 40,
            commit_date=date, build=facts(package_version="0.2.0"),
        )
        for number, date in enumerate(dates)
    ]  # fmt: skip
    released = [
        make_revision(version, build=facts(package_version=version))
        for version in ("0.10", "0.2.0")
    ]
    entries = [history_revision(revision) for revision in (*built, *released)]
    known = sorted((entry for entry in entries if entry), key=lambda entry: entry.order)
    assert [entry.name for entry in known] == ["v0.2.0", "2" * 10, "0" * 10, "1" * 10, "v0.10"]


def test_one_revision_under_two_names_is_no_comparison() -> None:
    # As every trial of a revision with itself.
    revisions = tuple(
        make_revision(label, text=f"{label}=v0.2.0", build=facts(package_version="0.2.0"))
        for label in "ab"
    )
    record = make_record({"a": [{STEADY: 1.0}] * 3, "b": [{STEADY: 1.0}] * 3}, revisions=revisions)
    assert told_by(record, "1") == []


def test_each_engine_has_an_anchor_of_its_own_unless_one_is_named() -> None:
    others = [dataclasses.replace(it, engine="other") for it in told("2", {"v8": 1, "v9": 2})]
    both = told("1", {"v1": 1, "v2": 2}) + others
    assert [trend.anchor for trend in trends(both, None)] == ["v8", "v1"]
    assert [trend.anchor for trend in trends(both, "v1")] == ["v1"]


@pytest.mark.parametrize(("disturbed", "counted"), [(2, [5]), (3, [])])
def test_disturbed_rounds_count_and_where_most_are_nothing_is_told(
    disturbed: int, counted: list[int]
) -> None:
    record = released({"v1": 1.0, "v2": 2.0}, session="1", rounds=5)
    disturb(record, *range(1, disturbed + 1))
    assert [it.rounds for it in told_by(record, "1")] == counted


BOX = {"fingerprint": "0123456789ab", "cpu": "EPYC 7763", "cpus": 4, "kernel": "Linux 6.8.0"}


@pytest.mark.parametrize(
    "changes",
    [
        {"machine": {**BOX, "cpu": "Xeon 8370C"}},
        {"machine": {**BOX, "cpus": 2}},
        {"machine": {**BOX, "kernel": "Linux 6.9.1"}},
        {"python": "3.13.1"},
        {"compiler": "rustc 1.95.0"},
    ],
)
def test_another_machine_kernel_python_or_compiler_is_another_history(
    changes: dict[str, Any],
) -> None:
    costs = {"v1": 1.0, "v2": 1.0, "v3": 1.0}
    before = told("a", costs, machine=BOX) + told("b", costs, machine=BOX)
    off = {"v1": 1.0, "v4": 2.0}
    # Another machine of the same kind is none.
    here = [
        it for name in "cd" for it in told(name, off, machine={**BOX, "fingerprint": name * 12})
    ]
    (trend,) = trends(before + here, "v1")
    assert [(step.after, step.is_provisional) for step in trend.change_points] == [("v4", False)]
    there = [it for name in "cd" for it in told(name, off, **{"machine": BOX, **changes})]
    histories = trends(before + there, "v1")
    # What is measured there says nothing of v3, nor of v2.
    assert sorted([entry.name for entry in history.ratios] for history in histories) == [
        ["v1", "v2", "v3"], ["v1", "v4"],
    ]  # fmt: skip


def test_builds_of_different_compilers_tell_nothing() -> None:
    costs = {"v1": 1.0, "v2": 2.0}
    assert told("1", costs)
    assert told("1", costs, mixed_origins=True) == []


def test_scenarios_of_a_comparison_that_two_machines_made_keep_their_own() -> None:
    costs = {"v1": 1.0, "v2": 1.0}
    first, other = (released(costs, session="1", scenario=name) for name in ("here", "there"))
    specify(other, machine=BOX)
    sessions = told_by(first, "1", other)
    assert ["EPYC 7763" in each.machine for each in sessions] == [False, True]


def test_a_session_counts_once_with_all_of_its_rounds_however_often_it_is_stored() -> None:
    whole = released({"v1": 1.0, "v2": 2.0, "v3": 2.0}, session="1")
    early = replace(whole, measurements=[run for run in whole.measurements if run.round < 3])
    (alone,) = trends(told_by(whole, "whole"), "v1")
    assert [step.is_provisional for step in alone.change_points] == [True]
    for parts in ([whole, whole], [early, whole], [whole, early]):
        every = [it for number, part in enumerate(parts) for it in told_by(part, f"{number}")]
        (trend,) = trends(every, "v1")
        assert [*trend.ratios.values()] == [*alone.ratios.values()]
        assert trend.change_points == alone.change_points
    # Another session may well come to the same figures.
    (trend,) = trends(CONFIRMED, "v1")
    assert [step.is_provisional for step in trend.change_points] == [False]


def test_the_anchor_is_what_most_sessions_hold_of_which_copies_are_none() -> None:
    assert most_measured(told("1", {"v1": 1, "v2": 2}) + told("2", {"v2": 1, "v3": 2})) == "v2"
    assert most_measured([]) is None
    copied = released({"v1": 1.0, "v2": 2.0}, session="1")
    copies = [it for number in range(5) for it in told_by(copied, f"{number}")]
    assert (
        most_measured(copies + told("2", {"v2": 1, "v3": 2}) + told("3", {"v3": 1, "v4": 2}))
        == "v2"
    )
    assert (
        most_measured(copies + told("4", {"v8": 1, "v9": 1}) + told("5", {"v8": 1, "v9": 1}))
        == "v8"
    )


CONFIRMED = told("1", {"v1": 1, "v2": 2}) + told("2", {"v1": 1, "v2": 2})
ONCE = told("1", {"v1": 1, "v2": 2})


def test_a_confirmed_change_point_is_announced_once() -> None:
    assert unannounced(trends(ONCE, "v1"), ()) == []
    known = trends(CONFIRMED, "v1")
    ((trend, step),) = unannounced(known, ())
    before = trend.announcement(step)
    assert unannounced(known, {before}) == []
    assert len(unannounced(known, {replace(before, metric="cpu")})) == 1
    assert len(unannounced(known, {replace(before, rose=False)})) == 1


def test_another_machine_that_sees_an_old_change_point_announces_nothing() -> None:
    costs = {"v1": 1.0, "v2": 1.0, "v3": 2.0, "v4": 2.0}
    here = [it for name in "ab" for it in told(name, costs, machine=BOX)]
    (trend,) = trends(here, "v1")
    known = {trend.announcement(step) for step in trend.change_points}
    assert [step.after for step in known] == ["v3"]
    other = {**BOX, "kernel": "Linux 6.9.1"}
    there = [it for name in "cd" for it in told(name, {"v1": 1.0, "v4": 2.0}, machine=other)]
    assert unannounced(trends(here + there, "v1"), known) == []
    more = [it for name in "ef" for it in told(name, {"v1": 1.0, "v5": 4.0}, machine=other)]
    ((_, step),) = unannounced(trends(here + there + more, "v1"), known)
    assert step.after == "v5"


def test_a_night_that_is_off_is_never_confirmed_by_the_next_ones() -> None:
    nights = [told(f"{n:02}", {"v1": 1.0, f"v{n}": 2.0 if n == 8 else 1.0}) for n in range(2, 14)]
    (trend,) = trends([it for night in nights for it in night], "v1")
    assert {step.is_provisional for step in trend.change_points} == {True}
    assert {step.after for step in trend.change_points} == {"v8", "v9"}


def test_counts_that_are_equal_in_all_runs_have_a_history() -> None:
    night = [told(f"{n:02}", {"v1": 1.0, f"v{n}": 1.0}) for n in range(2, 14)]
    for cost, steps in ((0.0, []), (1.0, ["v8", "v9"])):
        nights = [
            dataclasses.replace(
                session, logs={entry: (cost * (entry.name == "v8"),) * 3 for entry in session.logs}
            )
            for (session,) in night
        ]
        (trend,) = trends(nights, "v1")
        assert [step.after for step in trend.change_points] == steps

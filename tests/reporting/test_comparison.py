"""The tables of one scenario, what is said of it in words, and the same as plain data."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.records import (
    contestant,
    disturb,
    facts,
    make_record,
    measurement,
    outcome,
    times,
)
from tests.reporting.printing import lines_of
from waitbench.analysis import statistics
from waitbench.model.record import Record
from waitbench.reporting.answer import answer
from waitbench.reporting.comparison import plain, print_comparison, sentences
from waitbench.reporting.console import print_answer
from waitbench.store import comparisons
from waitbench.system.places import ROOT

WAITING = {
    "time_cpu_startup": 0.1,
    "time_cpu_steady": 0.6,
    "time_cpu_shutdown": 0.1,
    "time_cpu_helpers": 0.0,
    "time_cpu_launcher": 0.2,
    "polls_per_item": 1234.5,
    "item_latency_p99": 0.0042,
}


def printed(record: Record) -> list[str]:
    return lines_of(lambda console: print_comparison(statistics.compare(record), console))


COUNTED = {"wakeups": 5000, "system_calls": 12345, "polls": 80000}


@pytest.mark.parametrize("waits", [True, False])
def test_counts_are_shown_only_where_there_was_waiting_and_more_than_polls(waits: bool) -> None:
    polls = [{**times(1, 1, 1), "polls": 80000.0}]
    calls = [{**times(1, 1, 1), **COUNTED}]
    assert not any("wake-ups" in line for line in printed(make_record({"a": polls})))
    shown = any("wake-ups" in line for line in printed(make_record({"a": calls}, waits=waits)))
    assert shown == waits


def test_the_document_shows_what_the_report_prints_of_its_sample() -> None:
    compared = statistics.compare_all(comparisons.read(ROOT / "docs/samples/input").records)
    (shown,) = (one for one in compared if one.scenario == "partitioned-long-input")
    document = (ROOT / "docs" / "reading.md").read_text("utf-8")
    lines = lines_of(lambda console: print_comparison(shown, console))
    assert "\n".join(lines[:6]) in document
    ends_with = lines_of(lambda console: print_answer(answer([shown]), console))
    assert "\n".join(ends_with) in document


@pytest.mark.parametrize("labels", [("v0.16.0", "v0.16.1"), ("a" * 40, "[red]b[/red]")])
def test_the_tables_fit_80_columns(labels: tuple[str, str]) -> None:
    runs = [{**times(123.4 + i, 99.9 + i, 0.001 * i), **WAITING} for i in range(4)]
    lines = printed(make_record({labels[0]: runs, labels[1]: runs}))
    assert max(map(len, lines)) <= 80
    assert any(line.startswith(labels[1]) for line in lines), "labels are data, not markup"
    assert any("…" in line for line in lines) is (len(labels[0]) == 40)


def said(record: Record) -> list[str]:
    return sentences(statistics.compare(record))


def test_what_only_its_own_interval_would_call_a_change_is_unclear() -> None:
    runs = {
        "old": [times(1, 100, 1)] * 5,
        "new": [times(1, 100, system) for system in (1.09, 1.14, 1.18, 1.22, 1.28)],
    }
    record = make_record(runs)
    (alone,) = sentences(statistics.compare(record))
    assert "system time 1.18× more (95 %: 1.09× – 1.27× more)" in alone
    (of_eight,) = sentences(statistics.compare(record, scenarios=8))
    assert "system time inconclusive (95 %: 1.09× – 1.27× more, which may be chance)" in of_eight


def test_a_rise_of_what_explains_a_cost_that_fell_is_no_regression() -> None:
    before = [times(5, 5.2 + i / 100, 0.09) for i in range(5)]
    after = [times(5, 0.12, 0.39 + i / 100) for i in range(5)]
    assert said(make_record({"old": before, "new": after}))[1] == (
        "new: system time 4.6× more, but CPU time, 10× less, pays for it: no regression."
    )


def waiting_runs(steady: float, late_ms: Sequence[float]) -> list[dict[str, float]]:
    return [
        {
            **times(5, 1, 1),
            "time_cpu_steady": steady * (1 + i / 100),
            "item_latency_p99": ms / 1000,
        }
        for i, ms in enumerate(late_ms)
    ]


CALM_MS = (1.0, 1.1, 0.9, 1.0, 1.05)


@pytest.mark.parametrize(
    ("steady", "late_ms", "expected"),
    [
        (0.1, [1.6, 1.7, 1.5, 1.6, 1.65], "workers spend 31× less CPU while waiting; "
         "items arrive 0.600 ms later at p99"),
        (4.0, [0.5, 0.6, 0.5, 0.6, 0.55], "workers spend 1.29× more CPU while waiting; "
         "items arrive 0.460 ms earlier at p99"),
        (3.1, CALM_MS, "workers spend about as much CPU while waiting; "
         "items arrive no later at p99"),
        (0.1, [0.5, 9, 0.4, 3, 1], "workers spend 31× less CPU while waiting; "
         "lateness is inconclusive (1.01 ms and 2.78 ms at p99)"),
    ],
)  # fmt: skip
def test_what_waiting_costs_is_said_with_what_it_does_to_the_items(
    steady: float, late_ms: Sequence[float], expected: str
) -> None:
    record = make_record({"old": waiting_runs(3.1, CALM_MS), "new": waiting_runs(steady, late_ms)})
    assert said(record)[1] == f"new: {expected}."


def test_nothing_is_said_of_waiting_where_there_is_nothing_to_wait_for() -> None:
    runs = {label: waiting_runs(steady, CALM_MS) for label, steady in (("old", 3.1), ("new", 0.1))}
    assert len(said(make_record(runs, waits=False))) == 1
    assert len(said(make_record(runs))) == 2
    once = {label: found[:1] for label, found in runs.items()}
    assert len(said(make_record(once))) == 1, "one round says nothing"


def warnings(record: Record) -> list[str]:
    return [sentence for sentence in said(record) if not sentence.startswith("b against a")]


def pair(**changes: Any) -> Record:
    return make_record({"a": [times(1, 1, 1)] * 2, "b": [times(1, 1, 1)] * 2}, **changes)


def test_without_anything_odd_there_is_no_warning() -> None:
    assert warnings(pair()) == []


def test_runs_without_a_measurement_are_counted_by_reason() -> None:
    record = pair()
    for reason, message in (("timed-out", ""), ("failed", "first"), ("failed", "exit code 1")):
        record.add(outcome("b", 1, reason, message=message))
    assert warnings(record) == [
        "b: runs without a measurement: 2 × failed (exit code 1), 1 × timed-out."
    ]


def test_cpu_that_does_not_add_up_is_said() -> None:
    record = pair()
    record.add(measurement("a", 3, times(1, 1, 1)))
    record.add(measurement("b", 3, times(1, 1, 1), marks=("unbalanced",)))
    assert warnings(record) == [
        "b: in 1 of 3 runs the CPU of workers, helpers and launcher does not add up."
    ]


def test_identical_builds_and_mixed_origins_are_said() -> None:
    same = facts(extensions={"x.so": "same"}, package_sha256="same")
    revisions = (contestant("a", facts=same), contestant("b", facts=same))
    assert warnings(pair(revisions=revisions, mixed_origins=True)) == [
        "b: identical build: every file of its package is that of a.",
        "Mixed origins: these revisions were built by different compilers; part of a difference "
        "may be theirs.",
    ]


def test_a_build_with_other_python_files_is_not_called_identical() -> None:
    library = {"x.so": "same"}
    revisions = tuple(
        contestant(label, facts=facts(extensions=library, package_sha256=f"of {label}"))
        for label in "ab"
    )
    assert warnings(pair(revisions=revisions)) == [
        "b: same compiled library as a, but other files of the package differ."
    ]


def test_rounds_that_are_left_out_and_those_that_were_disturbed_are_said() -> None:
    same = [times(1, 1, 1)] * 3
    record = make_record({"old": same, "new": same[:2]})
    for label in ("old", "new"):
        record.add(measurement(label, 4, times(1, 1, 1), marks=("disturbed",)))
    assert said(record)[-2:] == [
        "1 round is left out: not every revision has a measurement there.",
        "1 round counts although the machine did something else in every attempt.",
    ]


def test_other_packages_that_differ_are_said() -> None:
    old, new = (
        contestant(label, facts=facts(requirements=(f"json=={version}", "same==1")))
        for label, version in (("old", "3"), ("new", "4"))
    )
    sentence = (
        "Other packages differ too, and part of a difference may be theirs: json 3 (old), 4 (new)."
    )
    runs = {"old": [times(1, 1, 1)], "new": [times(1, 1, 1)]}
    assert sentence in said(make_record(runs, revisions=(old, new)))
    assert not [text for text in said(make_record(runs)) if "Other packages" in text]


def test_plain_data_hold_what_is_known_of_a_scenario() -> None:
    record = make_record({"a": [times(1, 1, 1)] * 3, "b": [times(2, 2, 2)] * 3}, mixed_origins=True)
    record.add(outcome("b", 4, "failed"))
    disturb(record, 2)
    (data,) = json.loads(json.dumps(plain([statistics.compare(record)])))
    assert data.keys() == {
        "scenario", "topology", "mixed_origins", "baseline", "rounds", "disturbed_rounds",
        "revisions", "sentences",
    }  # fmt: skip
    assert (data["scenario"], data["topology"], data["baseline"]) == ("waiting", "single", "a")
    assert data["mixed_origins"] is True
    assert (data["rounds"], data["disturbed_rounds"]) == (3, 2)
    first, second = data["revisions"]
    assert first["metrics"]["cpu"] == {
        "value": 2, "low": 2, "high": 2, "count": 3, "unit": "second",
    }  # fmt: skip
    assert first["ratios"] == {}
    ratio = second["ratios"]["system"]
    assert (round(ratio["value"], 9), ratio["count"], ratio["verdict"]) == (2, 3, "slower")
    assert ratio.keys() == {"value", "low", "high", "count", "is_bound", "verdict"}
    assert (second["failures"], second["marks"]) == (
        {"failed": 1}, {"disturbed": 2},
    )  # fmt: skip
    assert second["identical_to"] is None
    assert data["sentences"][0].startswith("b against a: ")

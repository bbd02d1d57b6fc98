"""The tables of one scenario, what is said of it in words, and the same as plain data."""

from typing import Any

import pytest

from tests.records import (
    contestant,
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
from waitbench.reporting.comparison import print_comparison, sentences
from waitbench.reporting.console import print_answer
from waitbench.store import comparisons
from waitbench.system.places import ROOT

WAITING = {
    "time_cpu_startup": 0.1,
    "time_cpu_steady": 0.6,
    "time_cpu_shutdown": 0.1,
    "polls_per_item": 1234.5,
    "item_latency_p99": 0.0042,
}


def printed(record: Record) -> list[str]:
    return lines_of(lambda console: print_comparison(statistics.compare(record), console))


COUNTED = {"wakeups": 5000, "system_calls": 12345, "polls": 80000}


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
    assert "system time 1.18× more (95 %: 1.04× – 1.34× more)" in alone
    (of_eight,) = sentences(statistics.compare(record, scenarios=8))
    assert "system time inconclusive (95 %: 6 % less – 1.48× more)" in of_eight


def test_a_rise_of_what_explains_a_cost_that_fell_is_no_regression() -> None:
    before = [times(5, 5.2 + i / 100, 0.09) for i in range(5)]
    after = [times(5, 0.12, 0.39 + i / 100) for i in range(5)]
    assert said(make_record({"old": before, "new": after}))[1] == (
        "new: system time 4.6× more, but CPU time, 10× less, pays for it: no regression."
    )


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

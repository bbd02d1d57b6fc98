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
from waitbench.model.metrics import Metric
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


def test_what_is_printed_of_several_runs_is_said_to_be_their_mean() -> None:
    runs = [times(n, 1, 1) for n in (1.0, 1.0, 4.0)]
    lines = printed(make_record({"a": runs}))
    assert lines[0].endswith("means")
    assert lines[2].split()[1] == "2.00", "a chart has a line at the median, and says so"


def test_a_wide_interval_of_a_ratio_is_given_by_its_ends() -> None:
    runs = {"a": [times(1, 1, 1)] * 3, "b": [times(1, n, 1) for n in (0.08, 0.12, 0.19)]}
    found = [line.split() for line in printed(make_record(runs))]
    assert found[4][:4] == ["×", "1", "×", "0.122"]
    assert found[5][0] == "(0.0417–0.358)", "not half a width that is added and taken away"


COUNTED = {"wakeups": 5000, "system_calls": 12345, "polls": 80000}


def test_the_third_table_has_steady_system_time() -> None:
    run = {**times(1, 1, 1), **COUNTED, "time_system_steady": 0.217}
    lines = printed(make_record({"a": [run, run], "b": [run, run]}))
    assert lines[5].split("  ")[-1].strip() == "steady system"
    assert lines[6].endswith("0.217 s ±0 %")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("waits", [True, False])
def test_counts_are_shown_only_where_there_was_waiting_and_more_than_polls(waits: bool) -> None:
    polls = [{**times(1, 1, 1), "polls": 80000.0}]
    calls = [{**times(1, 1, 1), **COUNTED}]
    assert not any("wake-ups" in line for line in printed(make_record({"a": polls})))
    shown = any("wake-ups" in line for line in printed(make_record({"a": calls}, waits=waits)))
    assert shown == waits


def test_helpers_have_a_part_where_a_workload_starts_any() -> None:
    with_helpers = {**times(1, 1, 1), **WAITING, "time_cpu_helpers": 1.0}
    lines = printed(make_record({"a": [{**times(1, 1, 1), **WAITING}], "b": [with_helpers]}))
    assert any(line.endswith("stop/helpers/launch") for line in lines)
    parts = [line.split()[-2] for line in lines if line.endswith(" %") and "/" in line]
    assert parts == ["10/60/10/0/20", "5/30/5/50/10"]


def test_one_round_is_no_plural_and_has_no_interval() -> None:
    lines = printed(make_record({"a": [times(1, 1, 1)]}))
    assert lines[0] == "waiting · single · 1 round"
    assert lines[2].split() == ["a", "1.00", "s", "1.00", "s", "1.00", "s", "2.00", "s"]


def test_the_interval_of_a_mean_that_is_cut_off_at_zero_is_given_by_its_ends() -> None:
    lines = printed(make_record({"a": [times(1, 1, 0.001), times(1, 1, 0.5)]}))
    assert "0.251 s (0–3.42 s)" in lines[2]


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


def test_a_change_is_said_as_a_person_would_say_it() -> None:
    before = [times(5.4, 5.0, 0.48 + i / 1000) for i in range(5)]
    after = [times(5.4, 0.1, 0.02 + i / 20000) for i in range(5)]
    assert said(make_record({"old": before, "new": after})) == [
        "new against old: system time 24× less (95 %: 24× less), "
        "CPU time 46× less (95 %: 46× less), real time unchanged."
    ]


def test_a_small_change_is_said_in_per_cent() -> None:
    before = [times(1, 1, 0.40 + i / 1000) for i in range(5)]
    after = [times(1, 1, 0.424 + i / 1000) for i in range(5)]
    (sentence,) = said(make_record({"old": before, "new": after}))
    assert sentence.startswith("new against old: system time 6 % more (95 %: 6 % more), ")


def test_what_is_unclear_is_said_with_its_interval_or_as_too_noisy() -> None:
    before = [times(1, 1, 0.1)] * 3
    after = [times(real, 1, system) for real, system in ((1.0, 0.01), (1.2, 5), (1.4, 0.1))]
    (sentence,) = said(make_record({"old": before, "new": after}))
    assert "system time too noisy to compare in 3 rounds" in sentence
    assert "real time inconclusive (95 %: 1.28× less – 1.81× more)" in sentence


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


def test_one_round_has_no_interval() -> None:
    (sentence,) = said(make_record({"old": [times(1, 1, 1)], "new": [times(3, 1, 1)]}))
    assert sentence.endswith("real time 3× more (one round: no interval).")


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


def test_without_lateness_only_cpu_is_said() -> None:
    runs = {
        label: [{**times(5, 1, 1), "time_cpu_steady": value} for value in values]
        for label, values in (("old", (1.0, 1.0, 1.0)), ("new", (0.3, 3.0, 1.0)))
    }
    assert said(make_record(runs))[1] == "new: CPU while waiting is inconclusive."


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


def test_runs_of_repeated_rounds_are_no_failures_but_are_said() -> None:
    record = pair()
    record.add(outcome("b", 1, "disturbed"))
    because = "repeated because the machine did something else meanwhile."
    assert warnings(record) == [f"b: 1 run was {because}"]
    record.add(outcome("b", 2, "disturbed"))
    assert warnings(record) == [f"b: 2 runs were {because}"]


def test_what_a_revision_lacks_is_said_and_is_no_failed_run() -> None:
    record = make_record({"a": [times(1, 1, 1)], "b": []})
    record.add(outcome("b", 0, "not-supported", message="it cannot wait"))
    assert warnings(record) == ["b: not supported: it cannot wait."]


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


def test_a_revision_without_figures_is_said() -> None:
    same = [times(1, 1, 1)] * 5
    assert "new: measured in 2 of 5 rounds only: no figures." in said(
        make_record({"old": same, "new": same[:2]})
    )


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


def test_metrics_of_a_family_have_their_units_too() -> None:
    record = make_record({"a": [{"calls": 4.0}]})
    record.metrics = (Metric("calls", "calls", "byte", "calls"),)
    (data,) = plain([statistics.compare(record)])
    assert data["revisions"][0]["metrics"]["calls"]["unit"] == "byte"

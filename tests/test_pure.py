"""Scenarios, plan, statistics and report: functions without a world around them."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.conftest import make_record, times
from waitbench import families
from waitbench.analysis import statistics
from waitbench.analysis.statistics import Estimate, Verdict
from waitbench.execution import plan
from waitbench.execution.measure import Outcome
from waitbench.families import selection
from waitbench.model.errors import UsageError
from waitbench.model.scenario import Topology
from waitbench.reporting import report


def test_the_eight_scenarios_of_the_input_families_are_there() -> None:
    suffixes = ["", "-long-input", "-heavy-map", "-long-input-heavy-map"]
    names = [scenario.name for scenario in families.ALL]
    for family in ("partitioned", "dynamic"):
        for suffix in suffixes:
            assert family + suffix in names
    assert all(scenario.purpose for scenario in families.ALL)


def test_globs_select_and_settings_apply_where_they_exist() -> None:
    chosen = selection.select(["partitioned*", "dynamic"], ["interval=0.5", "partitions=4"])
    assert {s.parameters["interval"] for s in chosen} == {0.5}
    assert [s.parameters.get("partitions") for s in chosen if s.name.startswith("partitioned")] == [4] * 7
    assert "partitions" not in chosen[-1].parameters
    assert "partitions=4" in chosen[0].import_string


@pytest.mark.parametrize("pattern", ["nothing", "", "PARTITIONED", "partitioned-"])
def test_a_glob_without_a_match_names_all_scenarios(pattern: str) -> None:
    with pytest.raises(UsageError, match="dynamic-long-input-heavy-map"):
        selection.select([pattern], [])


@pytest.mark.parametrize(
    "setting", ["partitions", "partitions=0", "partitions=-1", "partitions=x", "interval=nan", "nothing=1"]
)
def test_bad_settings_are_refused(setting: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        selection.select([], [setting])


def test_the_check_shortens_every_scenario_as_its_own_family_says() -> None:
    # Families share names of parameters, so that one family's short run must not be another's long one.
    whole, quick = (selection.select(["*"], [], quick=flag) for flag in (False, True))
    assert [scenario.name for scenario in quick] == [scenario.name for scenario in families.ALL]
    for before, after in zip(whole, quick, strict=True):
        assert after.expected_s <= before.expected_s, after.name
        for name, text in after.family.quick.items():
            if before.parameters.get(name):
                assert str(after.parameters[name]) in (text, f"{float(text)}"), (after.name, name)
        assert after.expected_s < 25, after.name
    by_name = {scenario.name: scenario.parameters for scenario in quick}
    assert by_name["dynamic-long-input"]["items_per_worker"] == 8
    assert by_name["paged-output-paged-noop"]["items_per_worker"] == 10_000


def test_expected_items_follow_the_topology() -> None:
    partitioned, dynamic = selection.select(["partitioned", "dynamic"], [])
    assert partitioned.expected_items(Topology("launcher", 4)) == 320
    assert [dynamic.expected_items(Topology("launcher", n)) for n in (1, 4, 16, 20)] == [20, 80, 320, 320]


@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 3))
def test_every_round_runs_every_revision_once_and_each_is_first_equally_often(
    revisions: int, rounds: int, count: int
) -> None:
    labels = [f"r{number}" for number in range(revisions)]
    chosen = families.ALL[:count]
    runs = plan.schedule(chosen, labels, rounds)
    assert len(runs) == count * (rounds + 1) * revisions
    firsts = []
    for scenario in chosen:
        for number in range(rounds + 1):
            one_round = [run for run in runs if run.scenario is scenario and run.round == number]
            assert sorted(run.label for run in one_round) == labels
            positions = [runs.index(run) for run in one_round]
            assert positions == list(range(positions[0], positions[0] + revisions)), "close together in time"
            firsts.append(one_round[0].label)
    per_label = [firsts[: rounds + 1].count(label) for label in labels]
    assert max(per_label) - min(per_label) <= 1


def test_what_is_missing_keeps_warm_ups_only_where_something_is_left() -> None:
    runs = plan.schedule(families.ALL[:2], ["a", "b"], 2)
    done = {(families.ALL[0].name, label, number) for label in "ab" for number in (1, 2)}
    done.add((families.ALL[1].name, "a", 1))
    left = plan.missing(runs, done)
    assert {run.scenario.name for run in left} == {families.ALL[1].name}
    assert [(run.label, run.round) for run in left] == [("a", 0), ("b", 0), ("b", 1), ("a", 2), ("b", 2)]
    assert plan.missing(runs, {(r.scenario.name, r.label, r.round) for r in runs}) == ()


def test_ratios_are_paired_within_rounds() -> None:
    # The machine drifts tenfold; within each round the candidate takes exactly half.
    base = [times(n, n, n) for n in (1.0, 3.0, 10.0)]
    record = make_record({"a": base, "b": [times(m["time_user"] / 2, m["time_user"] / 2, 1) for m in base]})
    row = statistics.compare(record).rows[1]
    ratio = row.ratios["user"]
    assert ratio.value == pytest.approx(0.5)
    assert ratio.low == pytest.approx(0.5) == ratio.high
    assert ratio.verdict is Verdict.FASTER


def test_intervals_are_students_t() -> None:
    mean = statistics.mean([1.0, 2.0, 3.0])
    assert mean.low is not None
    # t(0.975, 2) = 4.30265; standard error 1/sqrt(3). The lower end would be negative: a time cannot be.
    assert (mean.value, mean.low) == (2.0, 0.0)
    assert mean.high == pytest.approx(2 + 4.30265 / math.sqrt(3), rel=1e-5)
    ratio = statistics.geometric_mean([1, 2, 3])
    assert ratio.high == pytest.approx(math.exp(2 + 4.30265 / math.sqrt(3)), rel=1e-5)


def test_one_round_has_no_interval_and_is_unclear() -> None:
    ratio = statistics.geometric_mean([math.log(0.5)])
    assert (ratio.value, ratio.low, ratio.high, ratio.count) == (0.5, None, None, 1)
    assert ratio.verdict is Verdict.UNCLEAR


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.5, 0.6, "faster"), (1.2, 1.4, "slower"), (0.98, 1.03, "same"), (0.9, 1.2, "unclear"), (1.01, 1.04, "same")],
)
def test_verdicts(low: float, high: float, verdict: str) -> None:
    assert Estimate((low + high) / 2, low, high, 5).verdict.value == verdict


def test_zero_system_time_gives_finite_ratios() -> None:
    record = make_record({"a": [times(1, 1, 0)] * 3, "b": [times(1, 1, 0.002)] * 3})
    assert statistics.compare(record).rows[1].ratios["system"].value == pytest.approx(2)


def test_time_that_moved_from_user_to_system_is_named() -> None:
    before = [times(5, 5.2 + i / 100, 0.09) for i in range(5)]
    after = [times(5, 0.12, 0.39 + i / 100) for i in range(5)]
    comparison = statistics.compare(make_record({"v0.16.0": before, "v0.16.2": after}))
    assert comparison.rows[1].moved_to_system
    assert any("moved from user to system" in sentence for sentence in report.sentences(comparison))


def test_the_sentence_is_what_a_person_would_say() -> None:
    before = [times(5.4, 5.0, 0.48 + i / 1000) for i in range(5)]
    after = [times(5.4, 0.1, 0.02 + i / 20000) for i in range(5)]
    (sentence,) = report.sentences(statistics.compare(make_record({"old": before, "new": after})))
    assert sentence.startswith("new against old: system time 2")
    assert "× lower (95 % CI" in sentence
    assert sentence.endswith("real time unchanged.")


def test_the_sentence_about_waiting_says_what_it_costs_in_latency_only_where_that_is_clear() -> None:
    def runs(steady: float, late_ms: Sequence[float]) -> list[dict[str, float]]:
        return [
            {**times(5, 1, 1), "time_cpu_steady": steady * (1 + i / 100), "item_latency_p99": ms / 1000}
            for i, ms in enumerate(late_ms)
        ]

    def said(late_ms: Sequence[float]) -> str:
        record = make_record({"old": runs(3.1, [1, 1.1, 0.9, 1, 1.05]), "new": runs(0.1, late_ms)})
        comparison = replace(statistics.compare(record), waits=True)
        return report.sentences(comparison)[1]

    assert (
        said([1.6, 1.7, 1.5, 1.6, 1.65])
        == "new: workers spend 31× less CPU while waiting; items arrive 0.6 ms later at p99."
    )
    assert "unclear" in said([0.5, 9, 0.4, 3, 1])


def test_failures_identical_builds_and_mixes_are_said() -> None:
    record = make_record({"a": [times(1, 1, 1)] * 2, "b": [times(1, 1, 1)] * 2}, mixed_origins=True)
    for revision in record.context.revisions:
        revision["extensions"] = {"x.so": "same"}  # type: ignore[index]
    record.add(Outcome("b", 1, 0, "", "timed-out", "", ""))
    said = " ".join(report.sentences(statistics.compare(record)))
    assert "b: runs without a measurement: 1 × timed-out." in said
    assert "identical build" in said
    assert "Mixed origins" in said


@pytest.mark.parametrize("labels", [("v0.16.0", "v0.16.1"), ("a" * 40, "[red]b[/red]")])
def test_the_table_fits_80_columns(labels: tuple[str, str]) -> None:
    console = Console(width=80, record=True, highlight=False)
    runs = [times(123.4 + i, 99.9 + i, 0.001 * i) for i in range(4)]
    report.print_comparison(statistics.compare(make_record({labels[0]: runs, labels[1]: runs})), console)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines[:3] if len(labels[0]) < 20)


def test_plain_data_of_a_comparison_names_its_verdicts() -> None:
    record = make_record({"a": [times(1, 1, 1)] * 3, "b": [times(2, 2, 2)] * 3})
    (data,) = report.as_json([statistics.compare(record)])
    assert data["baseline"] == "a"
    assert data["revisions"][1]["ratios"]["system"]["verdict"] == "slower"

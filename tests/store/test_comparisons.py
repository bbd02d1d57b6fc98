"""Comparisons in folders: complete after every run, whatever happens between two writes."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from tests.records import context, describing, make_record, measurement, outcome, times
from tests.store import strategies
from tests.store.keeping import begin, finish, keep, no_file_above, recorded
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.record import Record
from waitbench.model.run import DISTURBED
from waitbench.model.scan import ScanPoint
from waitbench.model.share import Share
from waitbench.store import comparisons
from waitbench.system import files


@pytest.fixture
def record() -> Record:
    return recorded()


def test_every_run_is_there_before_the_next_one_starts_and_no_export_is_read_back(
    tmp_path: Path, record: Record
) -> None:
    begin(tmp_path, [record])
    for number, result in enumerate(record.results, 1):
        comparisons.append(tmp_path, record, result)
        before = comparisons.read(tmp_path)
        assert before.records[0].results == record.results[:number]
    assert (before.records, before.comparison.finished) == ([record], False)
    comparisons.finish(tmp_path, [record])
    after = comparisons.read(tmp_path)
    assert (after.records, after.comparison.finished) == ([record], True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "comparison.json", "runs.csv", "runs.jsonl", "waiting.json",
    ]  # fmt: skip
    for name in ("waiting.json", "runs.csv"):
        (tmp_path / name).write_text("{")
    assert comparisons.read(tmp_path).records == [record]


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.records())
def test_whatever_a_record_holds_it_survives_a_round_trip(record: Record) -> None:
    with TemporaryDirectory() as name:
        finish(Path(name), record, rounds=3)
        contents = comparisons.read(Path(name))
        assert contents.records == [record]
        assert contents.comparison.settings == {"rounds": 3}


def test_a_scenario_of_a_scan_has_its_place_and_its_topology(tmp_path: Path) -> None:
    plain = make_record({"a": [times(1, 1, 1)]}, topology="single")
    point = ScanPoint(scenario="idle", parameter="processes", value=4)
    scanned = replace(
        plain, scenario="idle@processes=4", scan=point, own_topology="cluster, 4 processes"
    )
    finish(tmp_path, plain, scanned)
    found = comparisons.read(tmp_path).records
    assert found == [plain, scanned]
    assert [one.topology for one in found] == ["single", "cluster, 4 processes"]


def test_of_a_share_the_scenarios_that_are_measured_elsewhere_are_known_and_have_no_record(
    tmp_path: Path, record: Record
) -> None:
    names = ("waiting", "other")
    here = Share(scenarios=names[:1], of=names, index=1, number=2)
    scenarios = [record, make_record({"a": [], "b": []}, scenario="other")]
    comparisons.begin(tmp_path, describing(scenarios, share=here), [record])
    contents = comparisons.read(tmp_path)
    assert contents.records == [record]
    assert contents.comparison.share == here
    assert [one.scenario for one in contents.comparison.scenarios] == [*names]


def test_a_measurement_set_aside_is_an_outcome(tmp_path: Path, record: Record) -> None:
    keep(tmp_path, record)
    disturbed = outcome("a", 1, DISTURBED)
    del record.measurements[0]
    record.add(disturbed)
    comparisons.append(tmp_path, record, disturbed)
    assert comparisons.read(tmp_path).records == [record]
    anew = replace(measurement("a", 1, times(1, 1, 1)), started_at="2026-01-02T00:00:00+00:00")
    record.add(anew)
    comparisons.append(tmp_path, record, anew)
    assert comparisons.read(tmp_path).records == [record]


def crash_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the process "die" at the ``number``-th change that it makes to the folder, from 0."""
    left = [number]

    def dying(change: Callable[..., None]) -> Callable[..., None]:
        def changed(*arguments: Any, **named: Any) -> None:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            change(*arguments, **named)

        return changed

    monkeypatch.setattr(files, "write_text", dying(files.write_text))


@pytest.mark.parametrize("number", range(7))
def test_a_crash_at_any_moment_of_a_resumed_beginning_or_of_the_end_loses_nothing(
    number: int, tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_record({"a": [times(1, 1, 1)], "b": []}, scenario="other")
    finish(tmp_path, record, other)
    contents = comparisons.read(tmp_path)
    with monkeypatch.context() as patch:
        # Two files at the beginning; at the end one for each scenario, the table, and the mark.
        crash_at(number, patch)
        dies = pytest.raises(KeyboardInterrupt) if number < 6 else nullcontext()
        with dies:
            comparisons.begin(tmp_path, contents.comparison, contents.records)
            comparisons.finish(tmp_path, contents.records)
    assert comparisons.read(tmp_path).records == [record, other]


def test_scenarios_are_read_in_the_order_of_the_comparison_without_those_not_begun(
    tmp_path: Path,
) -> None:
    named = [make_record({"a": [times(1, 1, 1)]}, scenario=name) for name in "zam"]
    named[1].measurements.clear()
    keep(tmp_path, *named)
    assert [one.scenario for one in comparisons.read(tmp_path).records] == ["z", "m"]
    comparisons.finish(tmp_path, named)
    assert [one.scenario for one in comparisons.read(tmp_path).records] == ["z", "a", "m"]


def test_a_dataflow_may_be_called_comparison_and_an_argument_need_not_be_utf_8(
    tmp_path: Path,
) -> None:
    argv = ("compare", "r\udce9sultats")
    record = make_record({"a": [times(1, 1, 1)]}, scenario="comparison", argv=argv)
    finish(tmp_path, record)
    contents = comparisons.read(tmp_path)
    assert (contents.records, contents.comparison.argv) == ([record], argv)
    assert (tmp_path / "comparison-scenario.json").exists()


def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path, record: Record) -> None:
    keep(tmp_path, record)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with no_file_above(100):
        with pytest.raises(HarnessError, match=r"waiting\.json cannot be written"):
            comparisons.finish(tmp_path, [record])
        with pytest.raises(HarnessError, match=r"comparison\.json cannot be written"):
            comparisons.begin(tmp_path, describing([record]), [])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_without_results_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    with pytest.raises(UsageError, match=r"holds no results\. Measure first"):
        comparisons.read(tmp_path)
    comparisons.begin(tmp_path, context(["a"]), [])
    with pytest.raises(UsageError, match=r"holds no results\. Measure first"):
        comparisons.read(tmp_path)


@pytest.mark.parametrize("content", [None, "", '{"format": 3, "kind": "compa'])
def test_without_what_holds_for_all_runs_none_of_them_counts_and_it_is_said_why(
    content: str | None, tmp_path: Path, record: Record
) -> None:
    finish(tmp_path, record)
    path = tmp_path / "comparison.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(UsageError, match=r"none of them counts\. Put a copy of it back, or meas"):
        comparisons.resume(tmp_path)

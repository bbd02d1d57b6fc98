"""Comparisons in folders: complete after every run, whatever happens between two writes."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.records import context, make_record, measurement, outcome, times
from tests.store import strategies
from tests.store.keeping import SAMPLE, keep, recorded, results_of, sorted_runs
from tests.store.test_journal import no_file_above
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.record import Context, Record
from waitbench.model.run import DISTURBED, NOT_BUILT, Measurement
from waitbench.store import comparisons, journal
from waitbench.system import files


@pytest.fixture
def record() -> Record:
    return recorded()


def test_every_run_is_there_before_the_next_one_starts(tmp_path: Path, record: Record) -> None:
    comparisons.begin(tmp_path, record.context)
    for number, result in enumerate(results_of(record), 1):
        comparisons.append(tmp_path, record, result)
        (read,) = comparisons.read(tmp_path).records
        assert results_of(read) == results_of(record)[:number]


def test_a_finished_comparison_is_read_as_it_was_kept(tmp_path: Path, record: Record) -> None:
    keep(tmp_path, record)
    (before,) = comparisons.read(tmp_path).records
    assert before == record
    comparisons.finish(tmp_path, [record])
    (after,) = comparisons.read(tmp_path).records
    assert after == sorted_runs(record)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "comparison.json", "runs.csv", "waiting.json", "waiting.samples.csv",
    ]  # fmt: skip


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.records())
def test_whatever_a_record_holds_it_survives_a_round_trip(record: Record) -> None:
    with TemporaryDirectory() as name:
        comparisons.begin(Path(name), record.context)
        comparisons.finish(Path(name), [record])
        contents = comparisons.read(Path(name))
        assert (contents.context, contents.records) == (record.context, (record,))


def test_a_measurement_set_aside_is_an_outcome_before_and_after_the_end(
    tmp_path: Path, record: Record
) -> None:
    keep(tmp_path, record)
    disturbed = outcome("a", 1, DISTURBED)
    del record.measurements[0]
    record.add(disturbed)
    comparisons.append(tmp_path, record, disturbed)
    assert comparisons.read(tmp_path).records == (record,)
    comparisons.finish(tmp_path, [record])
    assert comparisons.read(tmp_path).records == (sorted_runs(record),)


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
    monkeypatch.setattr(Path, "unlink", dying(Path.unlink))


@pytest.mark.parametrize("number", range(6))
def test_a_crash_at_any_moment_of_the_end_loses_nothing(
    number: int, tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_record({"a": [times(1, 1, 1)], "b": []}, scenario="other")
    for one in (record, other):
        keep(tmp_path, one)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        crash_at(number, patch)
        comparisons.finish(tmp_path, [record, other])
    read = {found.scenario: sorted_runs(found) for found in comparisons.read(tmp_path).records}
    assert read == {"waiting": sorted_runs(record), "other": other}


def test_the_end_makes_six_changes() -> None:
    """As many as the crashes above: two files, samples, the table, and two journals."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        record = make_record({"a": [times(1, 1, 1)]})
        record.add(measurement("a", 2, times(1, 1, 1), samples=(SAMPLE,)))
        other = make_record({"a": [times(1, 1, 1)]}, scenario="other")
        for one in (record, other):
            keep(Path(name), one)
        crash_at(6, patch)
        comparisons.finish(Path(name), [record, other])


def test_a_comparison_that_is_finished_while_it_is_read_is_read_whole(
    tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path, record)
    read = journal.read

    def finish_after(path: Path, context: Context) -> Record | None:
        found = read(path, context)
        monkeypatch.setattr(journal, "read", read)
        comparisons.finish(tmp_path, [record])
        return found

    monkeypatch.setattr(journal, "read", finish_after)
    (found,) = comparisons.read(tmp_path).records
    assert sorted_runs(found) == sorted_runs(record)


def test_a_comparison_that_is_resumed_continues_what_is_there(
    tmp_path: Path, record: Record
) -> None:
    keep(tmp_path, record)
    comparisons.finish(tmp_path, [record])
    comparisons.begin(tmp_path, record.context)
    later = measurement("a", 3, times(3, 1, 1), samples=(SAMPLE,))
    record.add(later)
    comparisons.append(tmp_path, record, later)
    for _ in ("before the end", "after it"):
        (read,) = comparisons.read(tmp_path).records
        assert sorted_runs(read) == sorted_runs(record)
        comparisons.finish(tmp_path, [record])


def test_scenarios_are_read_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    not_built = outcome("b", 0, NOT_BUILT)
    begun = {"z": "2026-01-01T00:00:01", "a": "2026-01-01T00:00:02", "never": None}
    for name, at in begun.items():
        record = make_record({"a": [], "b": []}, scenario=name)
        record.add(not_built)
        if at is not None:
            record.add(
                Measurement(label="a", round=1, position=0, started_at=at, metrics=times(1, 1, 1))
            )
        keep(tmp_path, record)
    for _ in ("before the end", "after it"):
        read = comparisons.read(tmp_path).records
        assert [record.scenario for record in read] == ["z", "a", "never"]
        comparisons.finish(tmp_path, read)


def test_a_dataflow_of_the_users_may_be_called_comparison(tmp_path: Path) -> None:
    record = make_record({"a": [times(1, 1, 1)]}, scenario="comparison")
    keep(tmp_path, record)
    comparisons.finish(tmp_path, [record])
    contents = comparisons.read(tmp_path)
    assert (contents.context, contents.records) == (record.context, (record,))


def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path, record: Record) -> None:
    keep(tmp_path, record)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with no_file_above(100), pytest.raises(HarnessError, match=r"waiting\.json cannot be written"):
        comparisons.finish(tmp_path, [record])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_without_results_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(b"")
    with pytest.raises(UsageError, match=r"holds no results\. Measure first"):
        comparisons.read(tmp_path)
    comparisons.begin(tmp_path, context(["a"]))
    with pytest.raises(UsageError, match=r"holds no results\. Measure first"):
        comparisons.read(tmp_path)


def test_a_damaged_scenario_is_named_with_what_to_do_and_the_rest_is_kept(
    tmp_path: Path, record: Record
) -> None:
    other = make_record({"a": [times(1, 1, 1)]}, scenario="other")
    comparisons.begin(tmp_path, record.context)
    comparisons.finish(tmp_path, [record, other])
    path = tmp_path / "waiting.json"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(UsageError, match=r"waiting\.json' .*cut off.* move it away.*--resume"):
        comparisons.resume(tmp_path)
    kept = comparisons.salvage(tmp_path)
    assert ([one.scenario for one in kept.records], len(kept.lost)) == (["other"], 1)
    path.unlink()
    assert [one.scenario for one in comparisons.resume(tmp_path).records] == ["other"]


def test_a_damaged_scenario_is_rebuilt_from_its_journal(tmp_path: Path, record: Record) -> None:
    keep(tmp_path, record)
    (tmp_path / "waiting.json").write_text("{")
    contents = comparisons.resume(tmp_path)
    (found,) = contents.records
    assert sorted_runs(found) == sorted_runs(record)
    assert "Its journal is whole" in contents.rebuilt[0]
    comparisons.finish(tmp_path, [found])
    assert comparisons.resume(tmp_path).rebuilt == []


@pytest.mark.parametrize("content", [None, "", '{"format": 2, "kind": "compa'])
def test_without_what_holds_for_all_runs_none_of_them_counts_and_it_is_said_why(
    content: str | None, tmp_path: Path, record: Record
) -> None:
    comparisons.begin(tmp_path, record.context)
    comparisons.finish(tmp_path, [record])
    path = tmp_path / "comparison.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(UsageError, match=r"none of them counts\. Put a copy of it back, or meas"):
        comparisons.resume(tmp_path)

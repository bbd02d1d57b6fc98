"""Journals: one line a run, whatever cuts the last one off."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.records import make_record, measurement, outcome, times
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.record import Record
from waitbench.model.run import DISTURBED, Measurement
from waitbench.store import journal


@pytest.fixture
def record() -> Record:
    return make_record({"a": [], "b": []})


def run(number: int, label: str = "a") -> Measurement:
    return measurement(label, number, times(number, 1, 1), samples=({"taken_s": 0.5},))


def rounds(path: Path, record: Record) -> list[int]:
    read = journal.read(path, record.context)
    return [] if read is None else [m.round for m in read.measurements]


def test_a_later_result_of_the_same_run_replaces_the_earlier_one(
    tmp_path: Path, record: Record
) -> None:
    path = tmp_path / "journal"
    disturbed = outcome("a", 1, DISTURBED)
    for result in (run(1), run(2), disturbed):
        journal.append(path, record, result)
    read = journal.read(path, record.context)
    assert read is not None
    assert (read.measurements, read.outcomes) == ([run(2)], [disturbed])


def test_what_was_set_aside_stays_beside_the_measurement_that_took_its_place(
    tmp_path: Path, record: Record
) -> None:
    path = tmp_path / "journal"
    disturbed = outcome("a", 1, DISTURBED)
    anew = replace(run(1), started_at="2026-01-02T00:00:00+00:00")
    for result in (run(1), disturbed, anew):
        journal.append(path, record, result)
    read = journal.read(path, record.context)
    assert read is not None
    assert (read.measurements, read.outcomes) == ([anew], [disturbed])


def test_a_journal_cut_off_at_any_byte_keeps_all_runs_but_the_last_and_takes_further_ones(
    tmp_path: Path, record: Record
) -> None:
    path = tmp_path / "journal"
    journal.append(path, record, run(1))
    whole = path.stat().st_size
    journal.append(path, record, run(2))
    content = path.read_bytes()
    for size in range(whole, len(content)):
        path.write_bytes(content[:size])
        assert rounds(path, record) == [1]
        journal.append(path, record, run(3))
        assert rounds(path, record) == [1, 3]


def test_a_journal_cut_off_in_its_first_line_is_begun_again(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "journal"
    journal.append(path, record, run(1))
    content = path.read_bytes()
    for size in range(0, content.index(b"\n") + 1, 100):
        path.write_bytes(content[:size])
        assert journal.read(path, record.context) is None
        journal.append(path, record, run(1))
        assert path.read_bytes() == content


def test_a_line_that_a_power_cut_left_as_zeros_is_ignored(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "journal"
    journal.append(path, record, run(1))
    with path.open("ab") as file:
        file.write(b"\0" * 4096)
    assert rounds(path, record) == [1]


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Files that cannot grow, as on a full disk: a write is cut short, the next one refused."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))


def test_a_disk_that_fills_up_within_a_line_loses_that_run_only(
    tmp_path: Path, record: Record
) -> None:
    path = tmp_path / "journal"
    journal.append(path, record, run(1))
    before = path.stat().st_size
    with (
        no_file_above(before + 20),
        pytest.raises(HarnessError, match="journal cannot be added to: File too large"),
    ):
        journal.append(path, record, run(2))
    assert path.stat().st_size == before + 20
    assert rounds(path, record) == [1]
    journal.append(path, record, run(3))
    assert rounds(path, record) == [1, 3]


def test_a_journal_of_a_later_format_is_refused(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "journal"
    journal.append(path, record, run(1))
    path.write_text(path.read_text().replace('"format": 2', '"format": 3'))
    with pytest.raises(UsageError, match="Update waitbench"):
        journal.read(path, record.context)


def test_the_metrics_of_both_are_known_where_a_journal_continues_a_file() -> None:
    older, newer = make_record({"a": [times(1, 1, 1)]}), make_record({"a": []})
    older.metrics, newer.metrics = older.metrics[:2], older.metrics[1:]
    newer.add(run(2))
    joined = journal.joined(older, newer)
    assert {metric.key for metric in joined.metrics} == {
        metric.key for metric in (*older.metrics, *newer.metrics)
    }
    assert [m.round for m in joined.measurements] == [1, 2]

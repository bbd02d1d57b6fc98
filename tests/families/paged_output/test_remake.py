"""``paged-output``: what is run, kept and shown."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from tests.families.paged_output.rows import measured
from waitbench.families.paged_output import paging
from waitbench.families.paged_output.paging import ROWS, Measured, Row
from waitbench.families.paged_output.remake import PagingOptions, remake_tables
from waitbench.model.errors import ExitCode, HarnessError, UsageError


@pytest.fixture
def output() -> Console:
    return Console(file=io.StringIO(), width=80)


@pytest.fixture
def rows_run(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """Rows that are measured at once, without a device."""
    run: list[Row] = []

    def measure(rows: Sequence[Row], _repetitions: int, _say: object) -> list[Measured]:
        run.extend(rows)
        return [measured(row.device, row.messages) for row in rows]

    monkeypatch.setattr(paging, "measure", measure)
    monkeypatch.setattr(paging, "idle_share", lambda _seconds: 0.001)
    return run


def test_rows_no_larger_than_asked_for_are_kept_and_shown(
    rows_run: list[Row], tmp_path: Path, output: Console
) -> None:
    options = PagingOptions(repetitions=1, largest=10_000)
    assert remake_tables(options, tmp_path, output) is ExitCode.OK
    assert [row.device for row in rows_run] == ["noop", "passthrough"]
    assert {path.name for path in tmp_path.iterdir()} == {"paging.json", "paged-output.png"}
    assert len(json.loads((tmp_path / "paging.json").read_text())["rows"]) == 2
    assert isinstance(output.file, io.StringIO)
    assert "paged-output · passthrough" in output.file.getvalue()


def test_all_published_rows_are_run_without_a_limit(
    rows_run: list[Row], tmp_path: Path, output: Console
) -> None:
    remake_tables(PagingOptions(repetitions=1, largest=None), tmp_path, output)
    assert tuple(rows_run) == ROWS


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PagingOptions(repetitions=0, largest=None), "--repetitions 0: at least 1"),
        (
            PagingOptions(repetitions=1, largest=9_999),
            "--largest 9999: the smallest row has 10,000",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_created(
    tmp_path: Path, output: Console, options: PagingOptions, said: str
) -> None:
    folder = tmp_path / "new"
    with pytest.raises(UsageError, match=said):
        remake_tables(options, folder, output)
    assert not folder.exists()


def test_either_side_is_the_first_to_run_in_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[str] = []

    def note(_row: Row, output: str) -> dict[str, float]:
        run.append(output)
        result = {"seconds": 1.0, "user_s": 1.0, "system_s": 0.0, "bytes_held_peak": 1}
        return {**result, "total": 10, "sent": 10, "dropped": 0}

    monkeypatch.setattr(paging, "_run", note)
    paging.measure([Row(device="noop", messages=10, message_bytes=25)], 3, lambda _: None)
    assert run == ["regular", "paged", "paged", "regular", "regular", "paged"]


def test_medians_and_extremes_of_the_repetitions_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {"regular": iter([9.0, 3.0, 6.0]), "paged": iter([3.0, 1.0, 2.0])}

    def run(_row: Row, output: str) -> dict[str, float]:
        number = next(numbers[output])
        return {
            "seconds": number,
            "user_s": number,
            "system_s": 1.0,
            "total": 10,
            "sent": 10 - number,
            "dropped": number,
            "bytes_held_peak": number * 100,
        }

    monkeypatch.setattr(paging, "_run", run)
    said: list[str] = []
    row = Row(device="noop", messages=10, message_bytes=25)
    (found,) = paging.measure([row], 3, said.append)
    assert (found.regular_s, found.paged_s, found.speedup) == (6.0, 2.0, 3.0)
    assert (found.regular_cpu_s, found.paged_cpu_s) == (7.0, 3.0)
    assert (found.dropped, found.bytes_held_peak) == (3.0, 300.0)
    assert said == ["noop: 10 × 25 bytes, page 4096, buffer 40,000"]


@pytest.mark.parametrize("counts", [(9, 9, 0), (10, 9, 0)])
def test_messages_lost_without_being_counted_are_an_error(
    monkeypatch: pytest.MonkeyPatch, counts: tuple[int, int, int]
) -> None:
    total, sent, dropped = counts
    result = {"total": total, "sent": sent, "dropped": dropped}
    monkeypatch.setattr(paging, "_run", lambda *_: result)
    with pytest.raises(HarnessError, match="lost without being counted"):
        paging.measure([Row(device="noop", messages=10, message_bytes=25)], 1, lambda _: None)


def test_a_real_row_is_measured_on_a_real_device() -> None:
    row = Row(device="passthrough", messages=500, message_bytes=25)
    (found,) = paging.measure([row], 1, lambda _: None)
    assert found.regular_s > 0
    assert found.paged_s > 0
    assert found.dropped == 0
    assert 25 <= found.bytes_held_peak <= found.bytes_allowed


def test_a_program_that_fails_is_quoted() -> None:
    with pytest.raises(HarnessError, match="is not one of: noop, passthrough"):
        paging.measure([Row(device="tape", messages=1, message_bytes=25)], 1, lambda _: None)

"""Files that are written whole or not at all."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from waitbench.model.errors import HarnessError
from waitbench.system import files


def full(_descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in ("one", "two – and more"):
        files.write_text(path, text)
        assert path.read_text("utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_threads_may_write_the_same_file_at_once(tmp_path: Path) -> None:
    path, both = tmp_path / "file", threading.Barrier(2)

    def write(partial: Path) -> None:
        both.wait(10)
        partial.write_text("whole")
        both.wait(10)

    with ThreadPoolExecutor(2) as pool:
        for writing in [pool.submit(files.write_with, path, write) for _ in range(2)]:
            writing.result()
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    files.write_text(path, "before")
    monkeypatch.setattr("waitbench.system.files.os.fsync", full)
    with pytest.raises(HarnessError, match=r"No space left on device.*is untouched"):
        files.write_text(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_that_fails_half_way_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    def write_half(partial: Path) -> None:
        partial.write_text("ha")
        raise OSError(5, "Input/output error")

    with pytest.raises(HarnessError, match="Input/output error"):
        files.write_with(path, write_half)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]

"""Files that are written whole or not at all."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from waitbench.model.errors import HarnessError
from waitbench.system import files


def test_threads_may_replace_the_same_file_at_once(tmp_path: Path) -> None:
    path, both = tmp_path / "file", threading.Barrier(2)
    files.write_text(path, "two – and more")
    assert path.read_text("utf-8") == "two – and more"

    def write(partial: Path) -> None:
        both.wait(10)
        partial.write_text("whole")
        both.wait(10)

    with ThreadPoolExecutor(2) as pool:
        for writing in [pool.submit(files.write_with, path, write) for _ in range(2)]:
            writing.result()
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "file"
    path.write_text("before")
    monkeypatch.setattr("waitbench.system.files.os.fsync", full)
    with pytest.raises(HarnessError, match=r"No space left on device.*is untouched"):
        files.write_text(path, "after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]

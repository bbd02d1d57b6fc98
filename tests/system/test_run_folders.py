"""Folders of runs: never another's, and none left behind for long."""

import fcntl
import os
import time
from pathlib import Path

import pytest

from waitbench.system import run_folders


def age(path: Path) -> None:
    """As if it had been made two minutes ago."""
    then = time.time() - 120
    os.utime(path, (then, then))


def test_two_owners_have_two_folders_and_both_are_gone_afterwards(tmp_path: Path) -> None:
    with run_folders.own(tmp_path) as one, run_folders.own(tmp_path) as other:
        assert one != other
        assert one.is_dir()
        assert other.name.startswith(f"{os.getpid()}-")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_whose_owner_is_gone_is_cleared_away(tmp_path: Path) -> None:
    left = tmp_path / "4711-left"
    left.mkdir()
    (left / "stdout").write_text("half")
    lock = tmp_path / "4711-left.lock"
    lock.touch()
    age(lock)
    with run_folders.own(tmp_path):
        assert not left.exists()
        assert not lock.exists()


def test_a_folder_that_somebody_holds_is_let_be_and_so_is_one_just_being_made(
    tmp_path: Path,
) -> None:
    for name in ("held", "young"):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.lock").touch()
    age(tmp_path / "held.lock")
    with (tmp_path / "held.lock").open() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        run_folders.clear(tmp_path)
    assert (tmp_path / "held").is_dir()
    assert (tmp_path / "young").is_dir()


def test_a_run_that_lasts_is_not_cleared_away_by_another_start(tmp_path: Path) -> None:
    with run_folders.own(tmp_path) as folder:
        age(folder.with_name(f"{folder.name}.lock"))
        run_folders.clear(tmp_path)
        assert folder.is_dir()


def test_it_is_gone_after_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), run_folders.own(tmp_path):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []

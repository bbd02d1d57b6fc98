"""Locks that say for whom they wait, turns of one host, and folders of runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import until
from waitbench.model.errors import HarnessError
from waitbench.system import locks
from waitbench.system.places import PACKAGE

HOLDS = """
import sys
from pathlib import Path
from waitbench.system.locks import locked
with locked(Path(sys.argv[1]), print):
    print("held", flush=True)
    sys.stdin.readline()
"""

WAITS = """
from waitbench.system import locks
print("begun", flush=True)
with locks.measuring():
    print("mine", flush=True)
    input()
"""


def test_who_waits_for_a_lock_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "PATIENCE_S", 0.1)
    path, said = tmp_path / "one.lock", list[str]()
    command = [sys.executable, "-c", HOLDS, str(path)]
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"

        def heard(text: str) -> None:
            said.append(text)
            assert other.stdin is not None
            other.stdin.close()

        with locks.locked(path, heard):
            assert other.wait() == 0
    assert said == ["waiting for another process, which sets up the same"]


@pytest.fixture(autouse=True)
def own_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def other() -> "subprocess.Popen[str]":
    """Another process that takes its turn, until it gets a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def test_one_waits_for_the_other() -> None:
    with locks.measuring():
        process = other()
        assert process.stdout is not None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        assert process.poll() is None
    assert process.stdout.readline() == "mine\n"
    process.communicate("\n", timeout=10)


def test_a_turn_lasts_until_all_who_have_its_descriptor_are_gone() -> None:
    with locks.measuring() as descriptor:
        heir = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(descriptor,))
    process = other()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    heir.communicate()
    assert process.stdout is not None
    assert process.stdout.readline() == "mine\n"
    process.communicate("\n", timeout=10)


def test_the_turn_of_one_that_is_killed_is_over() -> None:
    process = other()
    assert process.stdout is not None
    assert process.stdout.readline() == "mine\n"
    process.kill()
    with locks.measuring():
        process.wait(10)


def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    with locks.measuring():
        (lock,) = tmp_path.iterdir()
    lock.unlink()
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HarnessError, match="cannot be locked"), locks.measuring():
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_whose_owner_is_gone_is_cleared_away(tmp_path: Path) -> None:
    left = tmp_path / "4711-left"
    left.mkdir()
    (left / "stdout").write_text("half")
    (left / ".lock").touch()
    with locks.own_folder(tmp_path) as folder:
        assert [*tmp_path.iterdir()] == [folder]
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_somebody_holds_is_let_be_and_so_is_one_just_being_made(
    tmp_path: Path,
) -> None:
    (tmp_path / "young").mkdir()
    with locks.own_folder(tmp_path) as held:
        locks.clear_folders(tmp_path)
        assert held.is_dir()
    assert (tmp_path / "young").is_dir()


TEMPORARY = """
from waitbench.system import locks
with locks.temporary_folder() as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    input()
"""


def test_a_temporary_folder_goes_with_who_is_killed(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "BENCH_CACHE": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", TEMPORARY],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert (folder / "file").exists()
        process.kill()
    until(lambda: not any((tmp_path / "temporary").iterdir()))

"""Workers of one host measure in turn."""

import subprocess
import sys
from pathlib import Path

import pytest

from waitbench.model.errors import HarnessError
from waitbench.system import locks

WAITS = """
from waitbench.system import locks
print("begun", flush=True)
with locks.{how}():
    print("mine", flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def other(how: str) -> "subprocess.Popen[str]":
    """Another process that takes its turn, until it gets a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS.format(how=how)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [("measuring", "measuring"), ("measuring", "preparing"), ("preparing", "measuring")],
)
def test_one_waits_for_the_other(mine: str, theirs: str) -> None:
    with getattr(locks, mine)():
        process = other(theirs)
        assert process.stdout is not None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        assert process.poll() is None
    assert process.stdout.readline() == "mine\n"
    process.communicate("\n", timeout=10)


def test_all_prepare_at_once() -> None:
    with locks.preparing():
        process = other("preparing")
        assert process.stdout is not None
        assert process.stdout.readline() == "mine\n"
        process.communicate("\n", timeout=10)


def test_the_turn_of_one_that_is_killed_is_over() -> None:
    process = other("measuring")
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
    with pytest.raises(HarnessError, match="Remove it"), locks.measuring():
        pass
    assert not (tmp_path / "elsewhere").exists()

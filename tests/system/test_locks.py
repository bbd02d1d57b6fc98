"""Locks that say for whom they wait, turns of one host, and folders of runs."""

import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.running import line_of, python
from waitbench.model.errors import HarnessError
from waitbench.system import locks
from waitbench.system.paths import PACKAGE

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


@pytest.fixture(autouse=True)
def own_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name, value in (("TMPDIR", tmp_path), ("BENCH_CACHE", tmp_path)):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE.parent))
    monkeypatch.setenv("BENCH_PROGRAM", "./compare.sh")


def test_who_waits_for_a_lock_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "PATIENCE_S", 0.1)
    path, messages = tmp_path / "one.lock", list[str]()
    with python(HOLDS, path) as holder:
        assert line_of(holder) == "held"

        def heard(text: str) -> None:
            messages.append(text)
            assert holder.stdin is not None
            holder.stdin.close()

        with locks.locked(path, heard):
            assert holder.wait() == 0
    assert messages == ["waiting for another process, which sets up the same"]


def is_held_up(process: subprocess.Popen[str]) -> bool:
    try:
        process.wait(0.3)
    except subprocess.TimeoutExpired:
        return True
    return False


def test_one_waits_for_the_other_and_for_all_who_have_its_descriptor() -> None:
    with ExitStack() as ours:
        descriptor = ours.enter_context(locks.measuring())
        heir = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(descriptor,))
        with python(WAITS) as waiting:
            assert line_of(waiting) == "begun"
            assert is_held_up(waiting)
            ours.close()
            assert is_held_up(waiting)
            heir.communicate()
            assert line_of(waiting) == "mine"


def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    with locks.measuring():
        (lock,) = tmp_path.iterdir()
    lock.unlink()
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HarnessError, match="cannot be locked"), locks.measuring():
        pass
    assert not (tmp_path / "elsewhere").exists()

"""Locks that say for whom they wait."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_who_waits_for_a_lock_says_for_whom_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "PATIENCE_S", 0.1)
    path, said = tmp_path / "one.lock", list[str]()
    command = [sys.executable, "-c", HOLDS, str(path)]
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "BENCH_PROGRAM": "./compare.sh"}
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
    assert said == [f"waiting for process {other.pid} (./compare.sh), which sets up the same"]


def test_who_need_not_wait_says_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        with locks.locked(tmp_path / "one.lock", said.append):
            pass
    assert said == []

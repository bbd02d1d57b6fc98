"""The guard: nothing outlives a killed harness."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.waiting import until
from waitbench.system.guard import Guard


@pytest.fixture
def guard() -> Guard:
    return Guard()


def sleeping(seconds: float, **more: object) -> "subprocess.Popen[bytes]":
    code = f"import time; time.sleep({seconds})"
    return subprocess.Popen([sys.executable, "-c", code], start_new_session=True, **more)  # type: ignore[call-overload,no-any-return]


def die(guard: Guard) -> None:
    """As when the harness is killed: nothing says goodbye."""
    assert guard._process is not None
    assert guard._process.stdin is not None
    guard._process.stdin.close()
    guard._process.wait(10)


def test_everything_in_flight_is_killed_when_the_harness_is_gone(guard: Guard) -> None:
    run, installation = sleeping(600), sleeping(600)
    for process in (run, installation):
        guard.watch(process.pid)
    die(guard)
    assert [run.wait(10), installation.wait(10)] == [-9, -9]


def test_so_is_what_left_its_group(guard: Guard, tmp_path: Path) -> None:
    run = sleeping(600)
    known = {**os.environ, "BENCH_PROBE_DIR": f"{tmp_path}/runs/{os.getpid()}-abc/probes"}
    stray, other = sleeping(600, env=known), sleeping(600)
    guard.watch(run.pid)
    die(guard)
    assert stray.wait(10) == -9
    assert other.poll() is None
    other.kill()


LAUNCHER = """
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # adopts what its descendants leave
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", sys.argv[1]], {})
    os._exit(0)
while True: time.sleep(1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="adoption is Linux's")
def test_so_is_what_has_a_session_of_its_own_and_no_variables(guard: Guard, tmp_path: Path) -> None:
    said = tmp_path / "pid"
    worker = (
        f"import os, time; open({str(said)!r}, 'w').write(f'{{os.getpid()}} '); time.sleep(600)"
    )
    launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER, worker], start_new_session=True)
    guard.watch(launcher.pid)
    until(lambda: said.exists() and said.read_text().endswith(" "))
    die(guard)
    assert launcher.wait(10) == -9
    until(lambda: not psutil.pid_exists(int(said.read_text())))


def test_what_has_ended_is_let_be(guard: Guard) -> None:
    run = sleeping(1)
    guard.watch(run.pid)
    guard.release(run.pid)
    guard.close()
    assert run.wait(10) == 0


def test_a_guard_that_was_killed_hurts_nobody(guard: Guard) -> None:
    guard.start()
    assert guard._process is not None
    guard._process.kill()
    guard._process.wait(10)
    guard.watch(1)
    guard.release(1)
    guard.close()


@pytest.mark.parametrize("in_order", [False, True])
def test_what_began_before_it_could_be_said_ends_with_a_killed_harness_only(
    in_order: bool, guard: Guard, tmp_path: Path
) -> None:
    known = {**os.environ, "WAITBENCH_RUN": f"{tmp_path}/runs/{os.getpid()}-abc"}
    untold = sleeping(600, env=known)
    guard.start()
    if in_order:
        guard.close()
        assert untold.poll() is None
        untold.kill()
    else:
        die(guard)
    assert untold.wait(10) == -9

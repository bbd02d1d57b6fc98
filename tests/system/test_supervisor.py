"""Nothing outlives a killed harness, whichever of its processes is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.running import run
from tests.waiting import until
from waitbench.system.paths import PACKAGE

HARNESS = """
import os, subprocess, sys, time
from waitbench.system import locks, supervisor
from waitbench.system.paths import Cache
supervisor.start()
strays = "setsid sleep 600 & setsid env -i sh -c 'sleep 600 &' & sleep 600 & wait"
with locks.temporary_folder() as folder:
    (folder / "two\\nlines").touch()
    subprocess.Popen(["sh", "-c", strays], start_new_session=True, stdout=subprocess.DEVNULL)
    print(folder, *supervisor.parents, os.getpid(), flush=True)
    time.sleep(600)
"""


@pytest.fixture
def harness(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A harness whose children have left its session, its parents, or its variables."""
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS], stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "BENCH_CACHE": str(tmp_path)},
    ) as process:  # fmt: skip
        yield process
        process.kill()


@pytest.mark.parametrize("killed", ["user", "supervisor", "harness", "group"])
def test_whichever_process_is_killed_nothing_is_left(
    killed: str, harness: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    assert harness.stdout is not None
    user, supervisor, measuring = map(int, harness.stdout.readline().split()[1:])
    # Supervisor, harness, shell and its three commands, of which an orphan moves for a moment.
    until(lambda: len(psutil.Process(user).children(recursive=True)) == 6)
    tree = psutil.Process(user).children(recursive=True)
    pids = {"user": user, "supervisor": supervisor, "harness": measuring, "group": -user}
    os.kill(pids[killed], signal.SIGKILL)
    until(lambda: not any(map(is_alive, tree)))
    until(lambda: [*(tmp_path / "temporary").iterdir()] == [])


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_others_of_the_job_live_on_though_the_shell_that_began_it_is_gone(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "BENCH_CACHE": str(tmp_path)}
    # The leader of the group ends at once, as a shell with a job in the background.
    job = 'sleep 600 & echo $!; "$0" -c "$1" & exit'
    shell = subprocess.Popen(
        ["sh", "-c", job, sys.executable, HARNESS],
        stdout=subprocess.PIPE, text=True, env=env, start_new_session=True,
    )  # fmt: skip
    assert shell.stdout is not None
    bystander = psutil.Process(int(shell.stdout.readline()))
    user = psutil.Process(int(shell.stdout.readline().split()[1]))
    shell.wait(10)
    tree = user.children(recursive=True)
    user.kill()
    until(lambda: not any(map(is_alive, tree)))
    assert is_alive(bystander)
    bystander.kill()


@pytest.mark.parametrize(
    ("code", "expected"), [("sys.exit(7)", 7), ("os.kill(os.getpid(), 9)", 137)]
)
def test_the_exit_code_is_that_of_the_harness(code: str, expected: int) -> None:
    program = f"import os, sys; from waitbench.system import supervisor; supervisor.start(); {code}"
    done = run(sys.executable, "-c", program, env={"PYTHONPATH": str(PACKAGE.parent)})
    assert (done.returncode, done.stderr) == (expected, "")

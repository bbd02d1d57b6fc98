"""The reaper of orphans: nothing outlives a killed harness."""

import os
import subprocess
import sys
from pathlib import Path

import psutil

from tests.running import line_of, python
from tests.waiting import until
from waitbench.system.orphan_reaper import OrphanReaper
from waitbench.system.paths import PACKAGE

SLEEPS = "import time; time.sleep(600)"
LATE = """
import os, sys, time
print("up", flush=True)
time.sleep(0.1)
os.execve(sys.executable, ["x", "-c", "import time; time.sleep(600)"], eval(sys.argv[1]))
"""
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


def test_everything_in_flight_is_killed_when_the_harness_is_gone_and_its_folders_go_with_it(
    tmp_path: Path,
) -> None:
    reaper = OrphanReaper()
    for folder in (tmp_path / name for name in ("one", "two\nlines\udcff")):
        reaper.remove_on_death(folder)
        folder.mkdir()
        (folder / "stdout").touch()
    marked = {**os.environ, **reaper.mark()}
    # Beside one of its own: what is about to start another program, and a worker with a session of
    # its own and no variables.
    with (
        python(SLEEPS) as other,
        python(SLEEPS, env=marked, start_new_session=True) as run,
        python(LATE, repr(marked), env=marked) as starting,
        python(LAUNCHER, "print(__import__('os').getpid(), flush=True); input()", env=marked) as up,
    ):
        assert line_of(starting) == "up"
        worker = int(line_of(up))
        # As when the harness is killed: nothing says goodbye.
        assert reaper._process is not None
        assert reaper._process.stdin is not None
        reaper._process.stdin.close()
        assert [process.wait(10) for process in (run, starting, up)] == [-9] * 3
        until(lambda: not psutil.pid_exists(worker))
        assert list(tmp_path.iterdir()) == []
        assert other.poll() is None


HARNESS = """
import os, subprocess, sys, time
from waitbench.system.orphan_reaper import OrphanReaper
reaper = OrphanReaper()
bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
started = subprocess.Popen(
    [sys.executable, "-c", "import time; time.sleep(600)"], env={**os.environ, **reaper.mark()}
)
print(bystander.pid, started.pid, flush=True)
time.sleep(600)
"""


def test_others_of_the_job_live_on_though_the_shell_that_began_it_is_gone() -> None:
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    # The leader of the group ends at once, as a shell with a job in the background.
    shell = subprocess.Popen(
        ["sh", "-c", '"$0" -c "$1" & exit', sys.executable, HARNESS],
        stdout=subprocess.PIPE, text=True, env=env, start_new_session=True,
    )  # fmt: skip
    assert shell.stdout is not None
    bystander, started = map(psutil.Process, map(int, shell.stdout.readline().split()))
    shell.wait(10)
    harness = bystander.parent()
    assert harness is not None
    harness.kill()
    until(lambda: not started.is_running())
    assert bystander.is_running()
    bystander.kill()

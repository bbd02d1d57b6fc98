"""The guard: nothing outlives a killed harness."""

import os
import subprocess
import sys

from waitbench.execution.guard import Guard


def test_the_guard_kills_the_run_in_flight_when_the_harness_is_gone() -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
    )
    guard = Guard().__enter__()
    guard.watch(os.getpgid(run.pid))
    assert guard._process.stdin is not None
    guard._process.stdin.close()  # as when the harness is killed: nothing says goodbye
    assert run.wait(10) == -9
    guard._process.wait(10)


def test_the_guard_lets_a_finished_comparison_be() -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1)"], start_new_session=True
    )
    with Guard() as guard:
        guard.watch(run.pid)
    assert run.wait(10) == 0

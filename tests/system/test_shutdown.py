"""Signals end the harness, whatever its main thread does."""

import subprocess
import sys

import pytest

from tests.running import run

PROGRAM = """
import os, signal, subprocess, sys, threading, time
from waitbench.system import shutdown, supervisor

def strike():
    time.sleep(0.2)
    for _ in range(int(sys.argv[1])):
        os.kill(supervisor.parents[0], signal.SIGTERM)
        time.sleep(0.02)

supervisor.start()
shutdown.handle_signals()
try:
    with shutdown.interruptible():
        threading.Thread(target=strike, daemon=True).start()
        {waits}
except shutdown.Interrupted:
    print("ended in order")
    {then}
"""
FOR_EVER = "threading.Event().wait()"
HELD_UP = "threading.Lock().acquire(); time.sleep(600)"
# Nothing interrupts this wait: no handler runs.
DEAF = f"signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); {FOR_EVER}"


def ended(signals: int, waits: str, then: str) -> "subprocess.CompletedProcess[str]":
    program = PROGRAM.format(waits=waits, then=then)
    return run(sys.executable, "-c", program, signals, timeout_s=60)


@pytest.mark.parametrize("signals", [1, 2])
def test_a_signal_ends_the_main_thread_in_order(signals: int) -> None:
    done = ended(signals, FOR_EVER, "sys.exit(130)")
    assert (done.returncode, done.stdout) == (130, "ended in order\n"), done.stderr


def test_the_children_that_threads_wait_for_end_with_the_main_thread() -> None:
    sleeps = "shutdown.run_parallel(lambda _: subprocess.run(['sleep', '600']), (1, 2))"
    done = ended(1, sleeps, "sys.exit(130)")
    assert (done.returncode, done.stdout) == (130, "ended in order\n"), done.stderr


@pytest.mark.parametrize(("waits", "then"), [(FOR_EVER, HELD_UP), (DEAF, "pass")])
def test_a_harness_that_does_not_end_in_time_is_killed(waits: str, then: str) -> None:
    done = ended(1, waits, then)
    assert done.returncode == 130
    assert "interrupted at once" in done.stderr

"""Signals end the harness, whichever thread they reach and whatever the main thread does."""

import subprocess
import sys

import pytest

from tests.running import run

PROGRAM = """
import signal, subprocess, sys, threading, time
from waitbench.system import shutdown

def strike():
    time.sleep(0.2)
    for _ in range(int(sys.argv[1])):
        # The system may choose any thread: Python's handler runs in the main one alone.
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        time.sleep(0.02)

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
# Nothing interrupts this wait: the handler runs, and there is no exception that it could raise.
DEAF = f"signal.pthread_sigmask(signal.SIG_BLOCK, [shutdown._POKE]); {FOR_EVER}"


def ended(signals: int, waits: str, then: str) -> "subprocess.CompletedProcess[str]":
    program = PROGRAM.format(waits=waits, then=then)
    return run(sys.executable, "-c", program, signals, timeout_s=60)


@pytest.mark.parametrize("signals", [1, 2])
def test_a_signal_that_reaches_another_thread_ends_the_main_one_in_order(signals: int) -> None:
    done = ended(signals, FOR_EVER, "sys.exit(130)")
    assert (done.returncode, done.stdout) == (130, "ended in order\n"), done.stderr


def test_what_threads_wait_for_ends_with_the_main_one() -> None:
    no_clock = "shutdown._KILL_AFTER_S = shutdown._EXIT_AFTER_S = 600"
    sleeps = "shutdown.run_parallel(lambda _: subprocess.run(['sleep', '600']), (1, 2))"
    done = ended(1, f"{no_clock}; {sleeps}", "sys.exit(130)")
    assert (done.returncode, done.stdout) == (130, "ended in order\n"), done.stderr


@pytest.mark.parametrize(("waits", "then"), [(FOR_EVER, HELD_UP), (DEAF, "pass")])
def test_the_clock_ends_what_does_not_end_and_who_hears_nothing(waits: str, then: str) -> None:
    done = ended(1, waits, then)
    assert done.returncode == 130
    assert "interrupted at once" in done.stderr

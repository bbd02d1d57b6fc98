"""System calls, counted by the kernel."""

import json
import os
import subprocess
import sys
import threading

import pytest
from support import counting

from waitbench.system.instruments import find_system_calls
from waitbench.system.places import DATAFLOWS

COUNTER = find_system_calls()
needs_counter = pytest.mark.skipif(COUNTER.tracepoint is None, reason=COUNTER.reason)
CALLS = 1000


@needs_counter
def test_calls_are_counted_also_those_of_threads_that_start_later() -> None:
    assert COUNTER.tracepoint is not None
    for calls in (0, CALLS, 3 * CALLS):
        # Beside those asked for, a thread makes a few to start and to end.
        assert calls <= calls_of_a_thread(COUNTER.tracepoint, calls) < calls + 50


def calls_of_a_thread(tracepoint: int, calls: int) -> int:
    """What is counted while a thread makes so many calls."""
    found: list[int] = []

    def make_calls() -> None:
        for _ in range(calls):
            os.getppid()

    def count() -> None:
        counter = counting.open_counter(tracepoint)
        before = counting.read_counter(counter)
        other = threading.Thread(target=make_calls)
        other.start()
        other.join()
        found.append(counting.read_counter(counter) - before)
        os.close(counter)

    # In a thread of its own, which ends with the counter.
    counted = threading.Thread(target=count)
    counted.start()
    counted.join()
    return found[0]


def test_what_the_kernel_refuses_is_said() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "support.counting", str(2**31)],
        env={**os.environ, "PYTHONPATH": str(DATAFLOWS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


def test_an_architecture_without_a_known_number_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("support.perf_event.platform.machine", lambda: "abacus")
    with pytest.raises(OSError, match="no perf_event_open is known on abacus"):
        counting.open_counter(1)


PROBED = """
import json, os, threading, time
from support import probe
probe.first_poll()
event = threading.Event()
for _ in range(20):
    event.wait(0.001)
probe.end_of_input()
print(json.dumps(probe.report()))
"""


def probed(**environment: str) -> dict[str, dict[str, int | None]]:
    done = subprocess.run(
        [sys.executable, "-c", PROBED],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(DATAFLOWS), **environment},
    )
    report: dict[str, dict[str, int | None]] = json.loads(done.stdout)
    return report


def test_a_probe_counts_how_often_its_process_waited_and_no_calls_where_it_may_not() -> None:
    for environment in ({}, {"BENCH_SYSTEM_CALLS_TRACEPOINT": str(2**31)}):
        report = probed(**environment)
        begin, end = report["first_poll"], report["end_of_input"]
        assert begin["switches_voluntary"] is not None
        assert end["switches_voluntary"] is not None
        assert end["switches_voluntary"] - begin["switches_voluntary"] >= 20
        assert (begin["system_calls"], end["system_calls"]) == (None, None)


@needs_counter
def test_a_probe_counts_calls_where_it_may() -> None:
    report = probed(BENCH_SYSTEM_CALLS_TRACEPOINT=str(COUNTER.tracepoint))
    begin, end = report["first_poll"]["system_calls"], report["end_of_input"]["system_calls"]
    assert begin is not None
    assert end is not None
    assert 20 <= end - begin < 200

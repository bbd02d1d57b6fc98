"""The launcher of a dataflow: how its processes start and end, and what is counted at the marks."""

import signal
import sys
from pathlib import Path

import pytest
from msgspec import convert

from tests.counting import counts_events, needs_events
from tests.execution.launches import COUNTER, LAUNCHER, REFUSED, dataflow
from waitbench.execution.accounting import LaunchReport, metrics_of

WAITS = """
import time
time.sleep(0.1)
from support import probe
burnt = bytearray(50_000_000)
probe.first_poll()
time.sleep(0.2)  # whatever else the machine does, it is read meanwhile
for _ in range(50): time.sleep(0.001)
probe.end_of_input()
time.sleep(0.2)
end = time.process_time() + 0.2
while time.process_time() < end: pass
"""


@needs_events
def test_what_is_counted_at_the_marks_is_that_of_the_window(tmp_path: Path) -> None:
    result = dataflow(tmp_path, WAITS)
    assert (result.exit_code, result.failure) == (0, "")
    assert not result.report["by_proc"]
    marks = result.report["marks"]
    assert list(marks) == ["begin", "end", "exit"]
    assert 50 <= result.rise("wakeups") < 100
    assert 0 < result.rise("cpu_s") < marks["exit"]["cpu_s"] - marks["end"]["cpu_s"]
    assert marks["exit"]["cpu_s"] - marks["end"]["cpu_s"] >= 0.15
    used = result.report["used"]
    assert used["time_user"] + used["time_system"] == pytest.approx(marks["exit"]["cpu_s"])
    assert used["memory_peak_resident"] > 50_000_000


ENDS_WITH_ITS_INPUT = """
import threading, time
from support import probe
def work():
    probe.first_poll()
    time.sleep(0.5)
    for _ in range(100): time.sleep(0.001)
    probe.end_of_input()
threads = [threading.Thread(target=work) for _ in range(2)]
for one in threads: one.start()
for one in threads: one.join()
"""


@pytest.mark.parametrize("program", [LAUNCHER, REFUSED], ids=["counted", "refused"])
def test_wakeups_of_a_thread_that_ends_with_its_input_are_counted(
    program: tuple[str, ...], tmp_path: Path
) -> None:
    # No kernel has an event of this number.
    result = dataflow(tmp_path, ENDS_WITH_ITS_INPUT, program=program, tracepoint=2**31)
    assert (result.exit_code, result.failure) == (0, "")
    # Two hundred, and what it takes to take turns.
    assert 150 <= metrics_of(9.0, convert(result.report, LaunchReport), [])["wakeups"] < 300
    assert result.rise("cpu_s") > 0
    assert "system_calls" not in result.report["marks"]["end"]
    assert result.report["by_proc"] is (program is REFUSED or not counts_events())


PEER = """
import socket, sys, time
index, addresses = int(sys.argv[1]), sys.argv[2].split(";")
host, port = addresses[index].split(":")
try:
    socket.socket().bind((host, int(port)))  # as others do, who reuse no address
except OSError:
    pass
else:
    sys.exit(7)
listener = socket.create_server((host, int(port)))
for other in addresses[:index]:
    socket.create_connection(other.split(":")).close()  # raises if the peer does not listen yet
"""


def test_the_window_of_a_cluster_is_from_the_last_first_poll_to_the_last_end(
    tmp_path: Path,
) -> None:
    """A process starts when the one before it listens, at a port that nobody else gets."""
    code = f"""
import time; time.sleep(0.3)
{PEER}
from support import probe
time.sleep(1 + 0.3 * index)
if index == 1: print(time.monotonic_ns(), flush=True)
probe.first_poll()
time.sleep(0.3)
if index == 1: time.sleep(0.5)
if index == 1: print(time.monotonic_ns(), flush=True)
probe.end_of_input()
"""
    result = dataflow(tmp_path, code, 2)
    assert (result.exit_code, result.failure) == (0, "")
    begun_ns, ended_ns = map(int, result.stdout.split())
    assert begun_ns <= result.report["marks"]["begin"]["monotonic_ns"] < ended_ns
    assert ended_ns <= result.report["marks"]["end"]["monotonic_ns"]


@pytest.mark.parametrize(
    ("code", "processes", "python", "exit_code", "complaint"),
    [
        # The rest are killed, and the exit code of the one that died is passed on.
        (PEER + "sys.exit(9) if index == 1 else time.sleep(600)", 3, sys.executable, 9, ""),
        ("import os; os.abort()", 1, sys.executable, 128 + signal.SIGABRT, ""),
        ("", 1, "/no/such/program", 127, "/no/such/program does not start: No such file"),
    ],
    ids=["one dies", "signal", "no program"],
)
def test_a_process_that_fails_ends_the_run_with_its_exit_code(
    code: str, processes: int, python: str, exit_code: int, complaint: str, tmp_path: Path
) -> None:
    result = dataflow(tmp_path, code, processes, python=python)
    assert (result.exit_code, result.failure, result.report) == (exit_code, "", {})
    assert complaint in result.stderr


LEAVES = "import os, time\nif os.fork() == 0: time.sleep(600)"


def test_what_a_process_leaves_behind_is_killed_and_said_unless_it_ends_soon(
    tmp_path: Path,
) -> None:
    result = dataflow(tmp_path / "stays", LEAVES)
    assert (result.exit_code, result.report) == (1, {})
    assert result.failure.endswith("' still ran after the dataflow's end; killed")
    assert "time.sleep(600)" in result.failure, "it is named"
    result = dataflow(tmp_path / "ends", LEAVES.replace("(600)", "(0.1)"))
    assert (result.exit_code, result.failure) == (0, "")
    assert list(result.report["marks"]) == ["exit"], "without a probe"


CALLS = 3000
WORK = f"""
import os, threading, time
def work():
    for _ in range({CALLS}): os.getppid()
    for _ in range(100): time.sleep(0.0001)
    end = time.thread_time() + 0.1
    while time.thread_time() < end: sum(range(100_000))
"""
THREAD = """
begin, done = threading.Event(), threading.Event()
def as_told():
    begin.wait()
    work()
    done.set()
threading.Thread(target=as_told, daemon=True).start()

from support import probe
probe.first_poll()
time.sleep(0.2)  # whatever else the machine does, it is read meanwhile
begin.set()
done.wait()
probe.end_of_input()
time.sleep(0.2)
"""
CHILD = """
begin, done = os.pipe(), os.pipe()
if os.fork() == 0:
    os.read(begin[0], 1)
    work()
    os.write(done[1], b"x")
    os._exit(0)

from support import probe
probe.first_poll()
time.sleep(0.2)
os.write(begin[1], b"x")
os.read(done[0], 1)
os.wait()
probe.end_of_input()
time.sleep(0.2)
"""
"""Is reaped in the window, where the daemon is not."""
DAEMON = CHILD.replace(
    "if os.fork() == 0:\n", "if os.fork() == 0:\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
)


@needs_events
@pytest.mark.parametrize("program", [THREAD, CHILD, DAEMON], ids=["thread", "child", "daemon"])
def test_all_that_ran_before_the_probe_is_counted_and_nothing_of_the_observer(
    program: str, tmp_path: Path
) -> None:
    result = dataflow(tmp_path, WORK + program, tracepoint=COUNTER.tracepoint)
    assert (result.exit_code, result.failure) == (0, "")
    assert result.rise("cpu_s") > 0.09
    # Of 100 sleeps; a busy machine may let some pass without a switch.
    assert result.rise("wakeups") >= 50
    if COUNTER.tracepoint is not None:
        assert CALLS + 100 <= result.rise("system_calls") < CALLS + 1000


def test_a_window_of_which_one_end_is_told_is_no_measurement(tmp_path: Path) -> None:
    code = """
import os, time
from support import probe
probe.first_poll()
time.sleep(0.2)
os.closerange(3, 64)
probe.end_of_input()
time.sleep(0.4)
"""
    result = dataflow(tmp_path, code)
    assert (result.exit_code, result.report) == (1, {})
    assert result.failure.startswith("it marked the beginning or the end")

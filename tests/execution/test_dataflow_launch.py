"""The launcher of a dataflow: how its processes start and end, and what is counted at the marks."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
import pytest

from tests.counting import counts_events
from tests.execution.refused import REFUSED
from waitbench.execution.bench import _LAUNCH
from waitbench.execution.launch_report import PROBES, WAITING
from waitbench.model.placeholders import ADDRESSES, INDEX
from waitbench.system.instruments import find_system_calls
from waitbench.system.places import DATAFLOWS

COUNTER = find_system_calls()
needs_counter = pytest.mark.skipif(COUNTER.tracepoint is None, reason=COUNTER.reason)
needs_events = pytest.mark.skipif(not counts_events(), reason="the kernel does not count here")


@dataclass(frozen=True)
class Launched:
    """What came of one launch."""

    exit_code: int
    failure: str
    report: Mapping[str, Any]
    output: str

    def rise(self, key: str) -> float:
        """By how much a reading rose within the window."""
        return float(self.report["marks"]["end"][key] - self.report["marks"]["begin"][key])


def launch(
    folder: Path,
    code: str,
    processes: int = 1,
    *,
    program: tuple[str, ...] = ("-I", "-S", str(_LAUNCH)),
    tracepoint: int | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Launched:
    """Runs a program of Python as an engine's processes; asserts that nothing of it is left."""
    (folder / "probes").mkdir()
    report = folder / "launched.json"
    told = {
        "arguments": [sys.executable, "-c", code, INDEX, ADDRESSES],
        "processes": processes,
        "tracepoint": tracepoint,
    }
    given = {PROBES: str(folder / "probes"), "PYTHONPATH": str(DATAFLOWS), **variables}
    done = subprocess.run(
        [sys.executable, *program, str(report), json.dumps(told)],
        env={**os.environ, **given},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
    )
    assert not left(folder)
    failure = folder / "failure"
    return Launched(
        exit_code=done.returncode,
        failure=failure.read_text() if failure.exists() else "",
        report=json.loads(report.read_text()) if report.exists() else {},
        output=done.stdout,
    )


def left(folder: Path) -> list[psutil.Process]:
    """Processes of a run that are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(PROBES) == str(folder / "probes"):
                found.append(process)
        except psutil.Error:
            continue
    return found


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
    found = launch(tmp_path, WAITS)
    assert (found.exit_code, found.failure) == (0, "")
    assert not found.report["by_proc"]
    marks = found.report["marks"]
    assert list(marks) == ["begin", "end", "exit"]
    assert 50 <= found.rise("wakeups") < 100
    assert 0 < found.rise("cpu_s") < marks["exit"]["cpu_s"] - marks["end"]["cpu_s"]
    assert marks["exit"]["cpu_s"] - marks["end"]["cpu_s"] >= 0.15
    used = found.report["used"]
    assert used["time_user"] + used["time_system"] == pytest.approx(marks["exit"]["cpu_s"])
    assert used["memory_peak_resident"] > 50_000_000


def test_where_the_kernel_refuses_it_is_read_from_proc_and_said(tmp_path: Path) -> None:
    found = launch(tmp_path, WAITS, program=REFUSED)
    assert (found.exit_code, found.failure) == (0, "")
    assert found.report["by_proc"]
    assert found.rise("wakeups") >= 50
    assert found.rise("cpu_s") > 0
    assert "system_calls" not in found.report["marks"]["end"]


ENDS_WITH_ITS_INPUT = """
import threading, time
from support import probe
def work():
    probe.first_poll()
    time.sleep(0.2)
    for _ in range(100): time.sleep(0.001)
    probe.end_of_input()
threads = [threading.Thread(target=work) for _ in range(2)]
for one in threads: one.start()
for one in threads: one.join()
"""


@pytest.mark.parametrize("is_counted", [True, False])
def test_wakeups_of_a_thread_that_ends_with_its_input_are_counted(
    is_counted: bool, tmp_path: Path
) -> None:
    program = ("-I", "-S", str(_LAUNCH)) if is_counted else REFUSED
    found = launch(tmp_path, ENDS_WITH_ITS_INPUT, program=program)
    assert (found.exit_code, found.failure) == (0, "")
    # Two hundred, and what it takes to take turns.
    assert 150 <= found.rise("wakeups") < 300


def test_what_has_no_probe_has_no_marks_but_its_end(tmp_path: Path) -> None:
    found = launch(tmp_path, "")
    assert list(found.report["marks"]) == ["exit"]


def test_who_looks_on_is_told_when_the_waiting_begins(tmp_path: Path) -> None:
    code = f"""
import os, time
from support import probe
probe.first_poll()
while not os.path.exists(os.environ[{WAITING!r}]): time.sleep(0.01)
probe.end_of_input()
"""
    variables = {WAITING: str(tmp_path / "waiting")}
    assert launch(tmp_path, code, variables=variables).exit_code == 0


PEER = """
import socket, sys, time
index, addresses = int(sys.argv[1]), sys.argv[2].split(";")
host, port = addresses[index].split(":")
listener = socket.create_server((host, int(port)))
for other in addresses[:index]:
    socket.create_connection(other.split(":")).close()  # raises if the peer does not listen yet
"""


def test_a_process_is_started_when_the_one_before_it_listens(tmp_path: Path) -> None:
    slow = "import time; time.sleep(0.3)\n" + PEER + "time.sleep(1.5)"
    assert launch(tmp_path, slow, 3).exit_code == 0


def test_nobody_else_gets_the_port_of_a_process_that_does_not_listen_yet(tmp_path: Path) -> None:
    code = """
import socket, sys, time
index, addresses = int(sys.argv[1]), sys.argv[2].split(";")
port = int(addresses[index].split(":")[1])
if index == 0:
    listener = socket.create_server(("127.0.0.1", port))
else:
    try:
        socket.socket().bind(("127.0.0.1", port))  # as others do, who reuse no address
    except OSError:
        sys.exit(7)
time.sleep(1)
"""
    assert launch(tmp_path, code, 2).exit_code == 7


def test_the_window_of_a_cluster_is_from_the_last_first_poll_to_the_last_end(
    tmp_path: Path,
) -> None:
    code = (
        PEER
        + """
from support import probe
time.sleep(1 + 0.3 * index)
if index == 1: print(time.monotonic_ns(), flush=True)
probe.first_poll()
time.sleep(0.3)
if index == 1: time.sleep(0.5)
if index == 1: print(time.monotonic_ns(), flush=True)
probe.end_of_input()
"""
    )
    found = launch(tmp_path, code, 2)
    assert (found.exit_code, found.failure) == (0, "")
    begun_ns, ended_ns = map(int, found.output.split())
    assert begun_ns <= found.report["marks"]["begin"]["monotonic_ns"] < ended_ns
    assert ended_ns <= found.report["marks"]["end"]["monotonic_ns"]


def test_when_one_process_dies_the_rest_are_killed_and_its_exit_code_is_passed_on(
    tmp_path: Path,
) -> None:
    code = PEER + "sys.exit(9) if index == 1 else time.sleep(600)"
    found = launch(tmp_path, code, 3)
    assert (found.exit_code, found.failure, found.report) == (9, "", {})


def test_a_signal_that_killed_a_process_is_in_the_exit_code(tmp_path: Path) -> None:
    found = launch(tmp_path, "import os; os.abort()")
    assert found.exit_code == 128 + signal.SIGABRT


def test_a_program_that_is_not_there_fails(tmp_path: Path) -> None:
    (tmp_path / "probes").mkdir()
    told = {"arguments": ["/no/such/program"], "processes": 1, "tracepoint": None}
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(_LAUNCH), str(tmp_path / "report"), json.dumps(told)],
        env={PROBES: str(tmp_path / "probes")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 127
    assert "/no/such/program does not start: No such file" in done.stderr


LEAVES = {
    "a child": "import os, time\nif os.fork() == 0: time.sleep(600)",
    "a daemon": "import os, time\nif os.fork() == 0:\n    os.setsid()\n"
    "    if os.fork() == 0: time.sleep(600)\n    os._exit(0)\nos.wait()",
}


@pytest.mark.parametrize("who", LEAVES)
def test_what_a_process_leaves_behind_is_killed_and_said(who: str, tmp_path: Path) -> None:
    found = launch(tmp_path, LEAVES[who])
    assert (found.exit_code, found.report) == (1, {})
    assert found.failure == "1 process still ran after the dataflow's end; killed"


def test_what_ends_soon_after_a_process_is_counted_with_it(tmp_path: Path) -> None:
    code = LEAVES["a daemon"].replace("time.sleep(600)", "time.sleep(0.1)")
    found = launch(tmp_path, code)
    assert (found.exit_code, found.failure) == (0, "")


CALLS = 5000
CALL = f"for _ in range({CALLS}): os.getppid()"
THREAD = f"""
import os, threading
begin, done = threading.Event(), threading.Event()
def call():
    begin.wait()
    {CALL}
    done.set()
threading.Thread(target=call, daemon=True).start()

from support import probe
probe.first_poll()
time_to_read
begin.set()
done.wait()
probe.end_of_input()
time_to_read
"""
CHILD = f"""
import os
begin, done = os.pipe(), os.pipe()
if os.fork() == 0:
    os.read(begin[0], 1)
    {CALL}
    os.write(done[1], b"x")
    os._exit(0)

from support import probe
probe.first_poll()
time_to_read
os.write(begin[1], b"x")
os.read(done[0], 1)
probe.end_of_input()
time_to_read
os.wait()
"""
DAEMON = CHILD.replace(
    "if os.fork() == 0:\n", "if os.fork() == 0:\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
)


@needs_counter
@pytest.mark.parametrize("workload", [THREAD, CHILD, DAEMON])
def test_calls_of_what_ran_before_the_probe_are_counted(workload: str, tmp_path: Path) -> None:
    code = workload.replace("time_to_read", "import time; time.sleep(0.2)")
    found = launch(tmp_path, code, tracepoint=COUNTER.tracepoint)
    assert (found.exit_code, found.failure) == (0, "")
    assert CALLS <= found.rise("system_calls") < CALLS + 500


def test_calls_that_the_kernel_does_not_count_are_absent(tmp_path: Path) -> None:
    found = launch(tmp_path, WAITS, tracepoint=2**31)
    assert found.exit_code == 0
    assert "system_calls" not in found.report["marks"]["end"]
    assert found.report["by_proc"] is not counts_events()


@needs_events
def test_the_cpu_of_a_child_that_is_reaped_in_the_window_is_in_the_window(tmp_path: Path) -> None:
    code = """
import os, time
from support import probe
probe.first_poll()
if os.fork() == 0:
    while time.process_time() < 0.3: pass
    os._exit(0)
os.wait()
probe.end_of_input()
time.sleep(0.2)
"""
    found = launch(tmp_path, code)
    assert found.rise("cpu_s") >= 0.25


FULL = """
marks = os.open(os.environ["BENCH_PROBE_DIR"] + "/marks", os.O_WRONLY | os.O_NONBLOCK)
os.kill(os.getppid(), signal.SIGSTOP)
with suppress(BlockingIOError):
    while True: os.write(marks, b"x " * 2048)
"""


@pytest.mark.parametrize(
    "misdeed", ["os.closerange(3, 64)", FULL + "threading.Timer(0.2, go_on).start()"]
)
def test_a_window_of_which_one_end_is_told_is_no_measurement(misdeed: str, tmp_path: Path) -> None:
    code = f"""
import os, signal, threading, time
from contextlib import suppress
from support import probe
def go_on(): os.kill(os.getppid(), signal.SIGCONT)
probe.first_poll()
time.sleep(0.2)
{misdeed}
probe.end_of_input()
time.sleep(0.4)
"""
    found = launch(tmp_path, code)
    assert (found.exit_code, found.report) == (1, {})
    assert found.failure.startswith("its window was told to begin or to end")

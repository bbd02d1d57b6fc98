"""The launcher of a worker that is a command: what it counts, and what it says of bad ones."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
import pytest

from tests.counting import counts_events
from tests.execution.refused import REFUSED
from waitbench.engines.worker import file as worker_file
from waitbench.engines.worker import launched
from waitbench.engines.worker.scenarios import scenarios_of
from waitbench.execution.accounting import metrics_of
from waitbench.execution.bench import _LAUNCH
from waitbench.execution.launch_report import PROBES
from waitbench.system.counters import answering
from waitbench.system.instruments import find_system_calls

COUNTER = find_system_calls()
needs_events = pytest.mark.skipif(not counts_events(), reason="the kernel does not count here")
SLEEPS = "import time\nprint('up')\nwhile True: time.sleep(1)"
CALM = (
    "window = 0.4\nready = { log = 'up', within = 20 }\nsettled = { seconds = 0.1 }\n"
    "stop_within = 20\n"
)
"""It is ready when it says so: no load of the machine changes what is found."""


@dataclass(frozen=True)
class Launched:
    """What came of one launch."""

    exit_code: int
    failure: str
    worker: Mapping[str, Any]
    """What the launcher reports."""

    def rise(self, key: str) -> float:
        """By how much a reading rose within the window."""
        return float(self.worker["marks"]["end"][key] - self.worker["marks"]["begin"][key])


def launch(
    folder: Path,
    code: str,
    more: str = CALM,
    running: Mapping[str, Any] = MappingProxyType({}),
    command: str = "{revision} code.py {port}",
    program: Sequence[str] = ("-I", "-S", str(_LAUNCH)),
    copies: int = 1,
    tracepoint: int | None = None,
) -> Launched:
    """Runs a worker that is a program of Python, as its file says; asserts that nothing is left."""
    (folder / "code.py").write_text(code)
    (folder / "mine.toml").write_text(f'command = "{command}"\nfiles = ["code.py"]\n{more}')
    worker = worker_file.read(folder / "mine.toml")
    told = launched(worker, scenarios_of(worker)[0].parameters)
    run = folder / "run"
    (run / "probes").mkdir(parents=True)
    with (run / "stdout").open("wb") as stdout, (run / "stderr").open("wb") as stderr:
        done = subprocess.run(
            [
                sys.executable,
                *program,
                str(run / "launched.json"),
                json.dumps(
                    {
                        **told,
                        "copies": copies,
                        "running": dict(running),
                        "tracepoint": tracepoint,
                        "python": sys.executable,
                        "revision": sys.executable,
                    }
                ),
            ],
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, PROBES: str(run / "probes"), "TEST_RUN": str(run)},
            timeout=60,
            check=False,
            start_new_session=True,
        )
    assert not left(run)
    failure, report = run / "failure", run / "launched.json"
    assert failure.exists() != report.exists(), (run / "stderr").read_text()
    return Launched(
        exit_code=done.returncode,
        failure=failure.read_text() if failure.exists() else "",
        worker=json.loads(report.read_text()) if report.exists() else {},
    )


def left(run: Path) -> list[psutil.Process]:
    """Processes of a run that are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TEST_RUN") == str(run):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_all_that_waits_is_counted_from_outside(tmp_path: Path) -> None:
    code = SLEEPS.replace("(1)", "(0.01)")
    found = launch(tmp_path, code, tracepoint=COUNTER.tracepoint)
    assert found.exit_code == 0, found.failure
    waited_s = found.rise("monotonic_ns") / 1e9
    # It never wakes up more often; how much less often is the machine's affair.
    assert 2 <= found.rise("wakeups") <= 2 * waited_s / 0.01
    assert 0 < found.rise("cpu_s") < waited_s
    if COUNTER.tracepoint is not None:
        assert found.rise("system_calls") >= 2


PREEMPTED = """
import os, resource, signal, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
children = []
for _ in range(3):
    children.append(os.fork())
    if not children[-1]:
        while True: pass
def end(*_):
    for child in children: os.kill(child, 9)
    for child in children: os.wait()
    own = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(sum(one.ru_nvcsw for one in own), flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
while True: time.sleep(0.05)
"""
"""Three processes that never sleep take turns on one CPU, and a fourth sleeps."""


def test_what_has_to_leave_its_cpu_to_others_has_not_woken_up(tmp_path: Path) -> None:
    found = launch(tmp_path, PREEMPTED, CALM.replace("0.4", "2"))
    assert found.exit_code == 0, found.failure
    slept = int((tmp_path / "run" / "stdout").read_text().split()[-1])
    # A switch between two readings of one thing and the other is in one of them.
    assert 2 <= found.rise("wakeups") <= slept + 3


def test_what_starts_and_ends_in_the_window_is_counted(tmp_path: Path) -> None:
    code = """
import subprocess, sys
print("up")
while True: subprocess.run([sys.executable, "-S", "-c", "sum(range(10_000))"])
"""
    rises = []
    for name, text in (("busy", code), ("idle", SLEEPS)):
        (tmp_path / name).mkdir()
        found = launch(tmp_path / name, text)
        assert found.exit_code == 0, found.failure
        rises.append(found.rise("cpu_s"))
    assert rises[0] > 5 * rises[1]


def test_a_child_that_outlives_it_in_a_session_of_its_own_is_killed_and_said(
    tmp_path: Path,
) -> None:
    code = """
import os, time
print("up")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: pass
    os._exit(0)
while True: time.sleep(1)
"""
    found = launch(tmp_path, code, CALM.replace("stop_within = 20", "stop_within = 1"))
    assert found.exit_code == 1
    assert "1 process of it still ran 1 s after it was told to end; killed" in found.failure


def test_the_memory_of_what_has_left_its_session_is_its_own(tmp_path: Path) -> None:
    code = """
import os, signal, time
def end(*_):
    os.kill(int(open("daemon").read()), 9)
    os._exit(0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        held = b"x" * (64 * 2**20)
        open("daemon", "w").write(str(os.getpid()))
        print("up", flush=True)
        while True: time.sleep(1)
    os._exit(0)
os.wait()
signal.signal(signal.SIGTERM, end)
while True: time.sleep(1)
"""
    found = launch(tmp_path, code)
    assert found.exit_code == 0, found.failure
    assert 64 * 2**20 < found.worker["totals"]["memory_proportional"] < 128 * 2**20


def test_a_worker_begins_with_no_signal_blocked(tmp_path: Path) -> None:
    code = """
import signal, time
assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])
assert signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL
print("up")
while True: time.sleep(1)
"""
    found = launch(tmp_path, code)
    assert found.exit_code == 0, found.failure


def test_a_worker_begins_with_no_signal_ignored(tmp_path: Path) -> None:
    shell = "sh -c 'grep SigIgn /proc/self/status; echo up; exec sleep 100' {revision}"
    found = launch(tmp_path, "", command=shell)
    assert found.exit_code == 0, found.failure
    ignored = int((tmp_path / "run" / "stdout").read_text().split()[1], 16)
    # What started these tests may have others ignored.
    assert not [one for one in (signal.SIGPIPE, signal.SIGXFSZ) if ignored >> (one - 1) & 1]


def test_a_worker_that_kills_its_process_group_kills_nothing_of_ours(tmp_path: Path) -> None:
    code = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
print("up")
while True: time.sleep(1)
"""
    for copies in (1, 2):
        (tmp_path / str(copies)).mkdir()
        found = launch(tmp_path / str(copies), code, copies=copies)
        assert (found.exit_code, found.failure) == (0, "")


TWO = """
import os, time
if os.fork(): print("up", flush=True)
while True: time.sleep(1)
"""


@pytest.mark.parametrize("copies", [1, 2])
def test_a_worker_may_be_told_to_end_by_a_signal_to_its_group(copies: int, tmp_path: Path) -> None:
    for name, more in (("one", ""), ("group", "stop_group = true\n")):
        (tmp_path / name).mkdir()
        calm = CALM.replace("stop_within = 20", "stop_within = 20" if more else "stop_within = 0.3")
        found = launch(tmp_path / name, TWO, calm + more, copies=copies)
        assert (found.exit_code == 0) is bool(more), found.failure
        assert ("of it still ran" in found.failure) is not bool(more)


POKED = """
import pathlib, time
print("up")
while not pathlib.Path("poked").exists(): time.sleep(0.01)
print("handled")
while True: time.sleep(1)
"""


def test_a_poke_tells_how_late_it_is_handled(tmp_path: Path) -> None:
    poke = '[poke]\ncommand = "touch poked"\ndone = { log = "handled" }\n'
    found = launch(tmp_path, POKED, CALM + poke)
    assert found.exit_code == 0, found.failure
    ((lateness_ns, count),) = found.worker["lateness_ns"]
    assert lateness_ns == found.worker["lateness_max_ns"] > 0
    assert count == 1


def test_a_poke_may_measure_by_itself(tmp_path: Path) -> None:
    poke = '[poke]\ncommand = ["sh", "-c", "echo lateness 0.25"]\n'
    found = launch(tmp_path, SLEEPS, CALM + poke)
    assert found.worker["lateness_max_ns"] == 250_000_000, found.failure


LISTENS = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
server.accept()
print("connected", flush=True)
"""


def test_a_worker_that_is_ready_by_its_port_has_not_been_connected_to(tmp_path: Path) -> None:
    found = launch(tmp_path, LISTENS, CALM.replace("log = 'up'", "port = true"))
    assert found.exit_code == 0, found.failure
    assert (tmp_path / "run" / "stdout").read_text() == ""


@pytest.mark.parametrize(
    ("poke", "said"),
    [
        ("command = 'false'", "the poke ended with exit code 1"),
        ("command = 'true'\ndone = { log = 'never', within = 0.3 }", "was not done within 0.3 s"),
        ("command = 'sleep 60'\ndone = { exit = true, within = 0.3 }", "not done within 0.3 s"),
    ],
)
@pytest.mark.parametrize("ends", [True, False])
def test_a_run_whose_poke_fails_keeps_what_its_window_measured(
    ends: bool, poke: str, said: str, tmp_path: Path
) -> None:
    code = SLEEPS if ends else f"import signal\nsignal.signal(15, signal.SIG_IGN)\n{SLEEPS}"
    calm = CALM if ends else CALM.replace("stop_within = 20", "stop_within = 0.3")
    found = launch(tmp_path, code, f"{calm}[poke]\n{poke}\n")
    assert (found.exit_code, found.failure) == (0, "")
    assert found.rise("monotonic_ns") > 0.4e9
    assert "lateness_ns" not in found.worker
    assert said in found.worker["unanswered"]
    assert ("time_stop" in found.worker["totals"]) is ends


BURNS = "{revision} -S -c 'import time\nwhile time.process_time() < 0.4: pass'"


def test_what_asks_and_wakes_a_worker_is_in_none_of_its_cpu(tmp_path: Path) -> None:
    burns = json.dumps(BURNS)
    more = (
        CALM.replace("{ seconds = 0.1 }", f"{{ command = {burns} }}")
        + f"[poke]\ncommand = {burns}\n"
    )
    found = launch(tmp_path, SLEEPS.replace("import time", "import time; time.sleep(0.1)"), more)
    assert found.exit_code == 0, found.failure
    assert found.worker["launcher_s"] > 1.2
    metrics = metrics_of(9.0, found.worker, [])
    assert 0 < metrics["time_cpu"] < 0.4
    assert metrics["time_user"] + metrics["time_system"] == pytest.approx(metrics["time_cpu"])
    parts = ("startup", "steady", "shutdown")
    assert sum(metrics[f"time_cpu_{part}"] for part in parts) == pytest.approx(metrics["time_cpu"])
    assert metrics["time_cpu_running"] < 0.4
    assert metrics["time_cpu_launcher"] == found.worker["launcher_s"]
    # What settles a worker is after its start-up: the command is called three times.
    assert metrics["time_startup"] == metrics["time_ready"] < 1.2


READY = "ready = { log = 'never', within = 0.3 }\n"


@pytest.mark.parametrize(
    ("code", "more", "said"),
    [
        ("", CALM, "it ended with exit code 0 before it was ready"),
        ("raise SystemExit(3)", CALM, "it ended with exit code 3 before it was ready"),
        ("import os; os.kill(os.getpid(), 9)", CALM, "it ended by SIGKILL before it was ready"),
        (
            "import os, time\nif os.fork() == 0: time.sleep(60)",
            CALM,
            "what it started runs on: have it stay in the foreground",
        ),
        (
            "import time; print('up'); time.sleep(1)",
            CALM.replace("0.4", "60"),
            "s of its window",
        ),
        (SLEEPS, READY, "it was not ready within 0.3 s: no line of its output matches 'never'"),
        (SLEEPS.replace("print", "len"), READY, "'never'. Does it buffer its output?"),
        (
            SLEEPS,
            "ready = { log = 'up' }\nsettled = { command = 'false', within = 0.5 }\n",
            "it was not settled within 0.5 s",
        ),
        (SLEEPS, "ready = { port = true, within = 0.3 }\n", "it was not ready within 0.3 s"),
        (
            f"import signal\nsignal.signal(15, signal.SIG_IGN)\n{SLEEPS}",
            CALM.replace("stop_within = 20", "stop_within = 0.3"),
            "it did not end within 0.3 s of SIGTERM; killed",
        ),
        (
            "import os, time\nprint('up')\nwhile not os.path.exists('x'): time.sleep(0.01)",
            CALM + "[poke]\ncommand = 'touch x'\ndone = { log = 'never' }\n",
            "it ended with exit code 0 before what it was poked with was done",
        ),
    ],
)
def test_what_goes_wrong_is_said_and_leaves_nothing(
    code: str, more: str, said: str, tmp_path: Path
) -> None:
    found = launch(tmp_path, code, more)
    assert found.exit_code == 1
    assert said in found.failure


def test_a_worker_that_prints_something_is_not_said_to_buffer_its_output(tmp_path: Path) -> None:
    ready = "ready = { log = 'never', within = 2 }\n"
    assert "buffer" not in launch(tmp_path, SLEEPS, ready).failure


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    found = launch(tmp_path, "", command="no-such-program {revision}")
    assert found.exit_code == 1
    assert "there is no program 'no-such-program'" in found.failure


def test_where_the_kernel_refuses_it_is_read_from_proc_and_said(tmp_path: Path) -> None:
    program = REFUSED
    code = SLEEPS.replace("(1)", "(0.01)")
    found = launch(tmp_path, code, program=program)
    assert found.exit_code == 0, found.failure
    assert found.worker["by_proc"]
    assert found.worker["samples"] == []
    assert found.rise("wakeups") >= 2
    assert "system_calls" not in found.worker["marks"]["end"]


def test_a_worker_whose_children_begin_anew_is_said_to_be_restarting(tmp_path: Path) -> None:
    code = """
import os, signal, time
print("up")
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:  # several at any moment
    if os.fork() == 0: time.sleep(1); os._exit(1)
    time.sleep(0.1)
"""
    found = launch(tmp_path, code, CALM.replace("0.4", "2"))
    assert found.exit_code == 0, found.failure
    assert found.worker["totals"]["processes_replaced"] >= 1


def test_what_services_count_is_told_without_what_it_takes_to_ask(tmp_path: Path) -> None:
    counting = tmp_path / "count"
    counting.write_text("#!/bin/sh\necho x >> $0.log\necho requests $(wc -l < $0.log)\necho odd\n")
    counting.chmod(0o755)
    service = {"port": 1, "folder": str(tmp_path), "counters": [str(counting)]}
    with answering(lambda: 0) as name:
        services = {"redis": {**service, "cpu": name}}
        found = launch(tmp_path, SLEEPS, running=services)
    assert found.exit_code == 0, found.failure
    assert found.worker["totals"]["service_requests"] == 0.0


def test_each_service_is_counted_by_itself_and_with_the_others(tmp_path: Path) -> None:
    services = {}
    used_ns = iter(range(0, 10**12, 10**9))
    for name, each in (("redis", 3), ("other", 0)):
        (tmp_path / name).mkdir()
        counting = tmp_path / name / "count"
        # What it counts rises between the window's ends only.
        counting.write_text(
            f"#!/bin/sh\necho x >> $0.log\nn=$(wc -l < $0.log)\n"
            f"echo requests $(( n > 2 ? {each} : 0 ))\n"
        )
        counting.chmod(0o755)
        services[name] = {"port": 1, "folder": str(tmp_path), "counters": [str(counting)]}
    with answering(lambda: next(used_ns)) as told:
        plain = {name: {**one, "cpu": told} for name, one in services.items()}
        found = launch(tmp_path, SLEEPS, running=plain)
    totals = found.worker["totals"]
    asked = ("service_requests", "service_requests_redis", "service_requests_other")
    assert [totals[key] for key in asked] == [3.0, 3.0, 0.0], found.failure
    # Asked in turn: 2 s from one answer to the next, less what that was before the window.
    asked = ("service_cpu_steady", "service_cpu_steady_redis", "service_cpu_steady_other")
    assert [totals[key] for key in asked] == [0.0, 0.0, 0.0]


def test_a_service_that_has_ended_is_named(tmp_path: Path) -> None:
    services = {"redis": {"port": 1, "folder": str(tmp_path), "counters": [], "cpu": "nobody"}}
    found = launch(tmp_path, SLEEPS, running=services)
    assert (found.exit_code, found.failure) == (1, "the service redis ended during the run")


def test_the_wakeups_of_each_half_of_the_window_are_counted(tmp_path: Path) -> None:
    code = SLEEPS.replace("(1)", "(0.01)")
    found = launch(tmp_path, code, CALM.replace("0.4", "1"))
    seen = found.worker["samples"]
    assert len(seen) == 2
    assert 0.5 <= seen[0]["time_s"] < seen[1]["time_s"]
    assert all(one["wakeups"] > 10 for one in seen)
    # A switch between two readings of one thing and the other is in one of them.
    assert sum(one["wakeups"] for one in seen) == pytest.approx(found.rise("switches"), abs=3)


COPY = """
import os, sys, time
print("up", sys.argv[1], os.getcwd(), flush=True)
while True: time.sleep(0.05)
"""


def test_copies_have_folders_and_ports_of_their_own_and_are_counted_and_ended_together(
    tmp_path: Path,
) -> None:
    # Only those that are not the first wake up.
    code = COPY.replace("0.05", '9 if os.getcwd().endswith("work") else 0.05')
    found = launch(tmp_path, code, copies=3)
    assert found.exit_code == 0, found.failure
    said = [line.split() for line in (tmp_path / "run" / "stdout").read_text().splitlines()]
    assert len({port for _, port, _ in said}) == 3
    assert {Path(folder).name for *_, folder in said} == {"work", "work-1", "work-2"}
    assert found.rise("wakeups") > 0
    assert found.worker["totals"]["memory_proportional"] > 0


@needs_events
def test_each_of_several_copies_is_counted_where_they_share_a_cpu(tmp_path: Path) -> None:
    """The kernel may swap the counters of processes that take turns on a CPU."""
    code = """
import os, resource, signal, time
def switches():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_nvcsw + used.ru_nivcsw
before = switches()  # it begins as a copy of what starts it
def end(*_):
    os.write(1, b"%d\\n" % (switches() - before))
    os._exit(0)
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
while True: time.sleep(0.01)
"""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        found = launch(tmp_path, code, copies=8)
    finally:
        os.sched_setaffinity(0, allowed)
    assert found.exit_code == 0, found.failure
    own = (tmp_path / "run" / "stdout").read_text().replace("up", "").split()
    assert len(own) == 8
    assert sum(map(int, own)) <= found.worker["marks"]["exit"]["switches"]


def test_a_copy_that_ends_by_itself_ends_all_and_is_said(tmp_path: Path) -> None:
    code = COPY.replace("while True:", 'while os.getcwd().endswith("work"):')
    found = launch(tmp_path, code + "sys.exit(7)\n", copies=2)
    assert (found.exit_code, "with exit code 7" in found.failure) == (1, True)


UNTIL_EXIT = "window = 'until-exit'\nready = { log = 'up', within = 20 }\nstop_within = 20\n"
ENDS = """
import subprocess, sys, time
print("up", flush=True)
subprocess.run([sys.executable, "-S", "-c", "sum(range(3_000_000))"], check=True)
time.sleep(0.2)
"""


@pytest.mark.parametrize("program", [("-I", "-S", str(_LAUNCH)), ("-c", "")])
def test_what_ends_by_itself_is_judged_until_all_of_it_has_ended(
    program: Sequence[str], tmp_path: Path
) -> None:
    if program[0] == "-c":
        program = REFUSED
    found = launch(tmp_path, ENDS, UNTIL_EXIT, program=program)
    assert found.exit_code == 0, found.failure
    totals = found.worker["totals"]
    assert found.rise("monotonic_ns") > 0.2e9
    assert found.rise("cpu_s") > 0
    assert not {"memory_proportional", "time_stop"} & totals.keys()
    assert found.worker["marks"]["end"]["cpu_s"] == found.worker["marks"]["exit"]["cpu_s"]


def test_what_has_no_time_to_get_ready_is_judged_from_its_start(tmp_path: Path) -> None:
    found = launch(tmp_path, "print('done')", "window = 'until-exit'\n")
    assert found.exit_code == 0, found.failure
    assert found.rise("monotonic_ns") > 0


@pytest.mark.parametrize(
    ("code", "more", "said"),
    [
        ("print('up', flush=True); raise SystemExit(3)", UNTIL_EXIT, "it ended with exit code 3"),
        ("import os; print('up', flush=True); os.kill(os.getpid(), 9)", UNTIL_EXIT, "by SIGKILL"),
        ("print('down')", UNTIL_EXIT, "it ended with exit code 0 before it was ready"),
        (
            "import os, time\nprint('up', flush=True)\nif os.fork() == 0: time.sleep(99)",
            UNTIL_EXIT.replace("stop_within = 20", "stop_within = 0.3"),
            "1 of its processes still ran 0.3 s after it had ended; killed",
        ),
    ],
)
def test_what_does_not_end_well_is_no_measurement(
    code: str, more: str, said: str, tmp_path: Path
) -> None:
    found = launch(tmp_path, code, more)
    assert found.exit_code == 1
    assert said in found.failure


@pytest.mark.parametrize(("code", "exit_code"), [("", 0), ("import sys; sys.exit(3)", 1)])
def test_copies_that_end_by_themselves_are_all_waited_for(
    code: str, exit_code: int, tmp_path: Path
) -> None:
    slow = "import os, time\nif os.getcwd().endswith('work-1'): time.sleep(0.5)\n"
    slow += "print('up', flush=True)\nif os.getcwd().endswith('work-1'):\n"
    slow += f"    time.sleep(0.5)\n    print('late', flush=True)\n{code}\n"
    found = launch(tmp_path, slow, UNTIL_EXIT, copies=2)
    assert found.exit_code == exit_code, found.failure
    said = (tmp_path / "run" / "stdout").read_text().split()
    assert ("late" in said) == (exit_code == 0)
    assert ("with exit code 3" in found.failure) == bool(exit_code)

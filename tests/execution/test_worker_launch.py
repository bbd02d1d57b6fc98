"""The launcher of a worker that is a command: what it counts, and what has no part in that."""

import json
import signal
from pathlib import Path

import pytest
from msgspec import convert

from tests.execution.launches import CALM, SLEEPS, worker
from waitbench.execution.accounting import LaunchReport, metrics_of

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
    result = worker(tmp_path, PREEMPTED, CALM.replace("0.4", "2"))
    assert result.exit_code == 0, result.failure
    slept = int(result.stdout.split()[-1])
    # A switch between two readings of one thing and the other is in one of them.
    assert 2 <= result.rise("wakeups") <= slept + 3


def test_what_has_left_its_session_is_its_own_by_its_memory_and_its_end(tmp_path: Path) -> None:
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
    result = worker(tmp_path, code)
    assert result.exit_code == 0, result.failure
    assert 64 * 2**20 < result.report["totals"]["memory_proportional"] < 128 * 2**20


GROWS = """
import time
print("up", flush=True)
kept = []
while True:
    time.sleep(0.01)
    kept.append(b"x" * 2**20)
"""


def test_memory_that_grows_within_the_window_is_told_by_the_minute(tmp_path: Path) -> None:
    grows, sleeps = worker(tmp_path / "1", GROWS), worker(tmp_path / "2", SLEEPS)
    growth, none = (it.report["totals"]["memory_growth"] for it in (grows, sleeps))
    assert none < 60 * 2**20 / 0.4 <= growth


def test_a_worker_begins_with_no_signal_blocked_or_ignored(tmp_path: Path) -> None:
    shell = "sh -c 'grep -E Sig[BI] /proc/self/status; echo up; exec sleep 100' {revision}"
    result = worker(tmp_path, "", command=shell)
    assert result.exit_code == 0, result.failure
    masks = [int(line.split()[1], 16) for line in result.stdout.splitlines()[:2]]
    assert masks[0] == 0
    # What started these tests may have others ignored.
    signals = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)
    assert not [it for it in signals if masks[1] >> (it - 1) & 1]


def test_a_worker_that_kills_its_process_group_kills_nothing_of_ours(tmp_path: Path) -> None:
    code = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
print("up")
while True: time.sleep(1)
"""
    for copies in (1, 2):
        result = worker(tmp_path / str(copies), code, copies=copies)
        assert (result.exit_code, result.failure) == (0, "")


POKED = """
import pathlib, time
print("up")
while not pathlib.Path("poked").exists(): time.sleep(0.01)
print("handled")
while True: time.sleep(1)
"""


@pytest.mark.parametrize(
    ("code", "poke", "lateness_ns"),
    [
        (POKED, 'command = "touch poked"\ndone = { log = "handled" }', None),
        (SLEEPS, 'command = ["sh", "-c", "echo lateness 0.25"]', 250_000_000),
        (SLEEPS, 'command = ["sh", "-c", "echo lateness 5e-05"]', 50_000),
    ],
    ids=["by its log", "by itself", "as Python prints it"],
)
def test_a_poke_tells_how_late_it_is_handled(
    code: str, poke: str, lateness_ns: int | None, tmp_path: Path
) -> None:
    result = worker(tmp_path, code, f"{CALM}[poke]\n{poke}\n")
    assert result.exit_code == 0, result.failure
    ((found_ns, count),) = result.report["lateness_ns"]
    assert (result.report["lateness_max_ns"], count) == (found_ns, 1)
    assert found_ns == lateness_ns or (lateness_ns is None and found_ns > 0)


LISTENS = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
server.accept()
print("connected", flush=True)
"""


def test_a_worker_that_is_ready_by_its_port_has_not_been_connected_to(tmp_path: Path) -> None:
    result = worker(tmp_path, LISTENS, CALM.replace("log = 'up'", "port = true"))
    assert result.exit_code == 0, result.failure
    assert result.stdout == ""


ANSWERS = """
import os, signal, sys, time
def answer(*_):
    end = time.process_time() + 0.02
    while time.process_time() < end: pass
    print("handled", flush=True)
signal.signal(signal.SIGUSR1, answer)
open("pid", "w").write(str(os.getpid()))
print("up", flush=True)
while True: signal.pause()
"""


@pytest.mark.parametrize("window_s", [None, 0.6])
def test_messages_at_a_rate_are_sent_within_the_window(
    window_s: float | None, tmp_path: Path
) -> None:
    poke = "[poke]\ncommand = ['sh', '-c', 'kill -USR1 $(cat pid)']\n"
    text = f"{CALM}{poke}done = {{ log = 'handled' }}\nrate = 10\n"
    result = worker(tmp_path, ANSWERS, text, scenario="mine-at-rate", window_s=window_s)
    count = 4 if window_s is None else 6
    assert (len(result.report["lateness_ns"]), result.stdout.count("handled")) == (count, count)
    assert result.report["lateness_max_ns"] == max(it for it, _ in result.report["lateness_ns"])
    assert result.rise("cpu_s") > count * 0.02
    assert result.report["totals"]["processes_replaced"] == 0, "pokes are none of its processes"
    quiet = worker(tmp_path / "quiet", ANSWERS, text)
    assert quiet.rise("cpu_s") < 0.02 < count * 0.02 < result.rise("cpu_s")
    assert len(quiet.report["lateness_ns"]) == 1


def test_a_poke_that_fails_at_a_rate_leaves_the_other_messages(tmp_path: Path) -> None:
    poke = "[poke]\ncommand = ['sh', '-c', 'kill -USR1 $(cat pid); exit 4']\n"
    text = f"{CALM}{poke}done = {{ log = 'handled' }}\nrate = 10\n"
    result = worker(tmp_path, ANSWERS, text, scenario="mine-at-rate")
    assert (result.exit_code, result.failure) == (0, "")
    assert "the poke ended with exit code 4" in result.report["incomplete"]["lateness"]["why"]
    assert "lateness_ns" not in result.report
    assert result.stdout.count("handled") == 4


def test_a_message_that_is_not_handled_ends_those_at_a_rate(tmp_path: Path) -> None:
    text = f"{CALM}[poke]\ncommand = 'true'\ndone = {{ log = 'no', within = 0.3 }}\nrate = 5\n"
    result = worker(tmp_path, SLEEPS, text, scenario="mine-at-rate")
    assert result.report["incomplete"]["lateness"]["more_than"] == 0.3
    assert "lateness_ns" not in result.report


@pytest.mark.parametrize(
    ("poke", "message"),
    [
        ("command = 'echo lateness 1.2.3'", "the poke printed a lateness of '1.2.3'"),
        ("command = 'echo lateness inf'", "the poke printed a lateness of 'inf'"),
        ("command = 'ls nowhere'", "the poke ended with exit code 2: ls: cannot access"),
        (
            "command = 'sleep 60'\ndone = { exit = true, within = 0.3 }",
            "did not handle its poke within 0.3 s",
        ),
    ],
)
def test_a_run_whose_poke_fails_keeps_what_its_window_measured(
    poke: str, message: str, tmp_path: Path
) -> None:
    result = worker(tmp_path, SLEEPS, f"{CALM}[poke]\n{poke}\n")
    assert (result.exit_code, result.failure) == (0, "")
    assert result.rise("monotonic_ns") > 0.4e9
    assert "lateness_ns" not in result.report
    lacking = result.report["incomplete"]["lateness"]
    assert message in lacking["why"]
    assert ("more_than" in lacking) is ("within" in message)
    assert "time_stop" in result.report["totals"]


def test_a_poke_that_fails_after_its_message_was_handled_has_failed(tmp_path: Path) -> None:
    poke = "command = ['sh', '-c', 'touch poked; sleep 0.2; exit 4']\ndone = { log = 'handled' }"
    result = worker(tmp_path, POKED, f"{CALM}[poke]\n{poke}\n")
    assert "lateness_ns" not in result.report
    assert "the poke ended with exit code 4" in result.report["incomplete"]["lateness"]["why"]


SENDS = """
import os, sys, time
time.sleep(0.3)
sys.stdout.write("job sent and answered\\n")
if sys.argv[1] == "flushed": print("sent", flush=True)
open("poked", "w").close()
if sys.argv[1] == "flushed": time.sleep(0.1)
else: os.write(1, b"sent\\n")
os._exit(0)
"""


@pytest.mark.parametrize(("how", "is_late"), [("flushed", False), ("buffered", True)])
@pytest.mark.parametrize("done", ["log = 'handled'", "exit = true"])
def test_lateness_counts_from_a_line_sent_unless_that_comes_as_the_poke_ends(
    how: str, is_late: bool, done: str, tmp_path: Path
) -> None:
    tmp_path.joinpath("send.py").write_text(SENDS)
    poke = f"command = '{{revision}} {tmp_path}/send.py {how}'\ndone = {{ {done} }}"
    for attempt in range(3):  # a busy machine may delay the end of the poke after its flush
        result = worker(tmp_path / f"{attempt}", POKED, f"{CALM}[poke]\n{poke}\n")
        assert result.exit_code == 0, result.failure
        if result.report.get("sent_at_end", False) is is_late:
            break
    late_s = result.report["lateness_max_ns"] / 1e9
    assert (late_s > 0.3) is is_late, late_s
    assert result.report.get("sent_at_end", False) is is_late


def test_sent_is_seen_while_a_command_tells_whether_it_is_done(tmp_path: Path) -> None:
    slow = "done = { command = ['sh', '-c', 'sleep 0.6; test -e poked'] }"
    poke = f"command = ['sh', '-c', 'sleep 0.5; echo sent; touch poked; sleep 0.1']\n{slow}"
    result = worker(tmp_path, POKED, f"{CALM}[poke]\n{poke}\n")
    assert result.exit_code == 0, result.failure
    # The command that began before it was sent ends when it is there.
    assert result.report["lateness_max_ns"] < 0.5e9


BURNS = "{revision} -S -c 'import time\nwhile time.process_time() < 0.4: pass'"


def test_what_asks_and_wakes_a_worker_is_in_none_of_its_cpu(tmp_path: Path) -> None:
    burns = json.dumps(BURNS)
    more = (
        CALM.replace("{ seconds = 0.1 }", f"{{ command = {burns} }}")
        + f"[poke]\ncommand = {burns}\n"
    )
    result = worker(tmp_path, SLEEPS.replace("import time", "import time; time.sleep(0.1)"), more)
    assert result.exit_code == 0, result.failure
    assert result.report["launcher_s"] > 1.2
    metrics = metrics_of(9.0, convert(result.report, LaunchReport), [])
    assert 0 < metrics["time_cpu"] < 0.4
    assert metrics["time_user"] + metrics["time_system"] == pytest.approx(metrics["time_cpu"])
    parts = ("startup", "idle", "shutdown")
    assert sum(metrics[f"time_cpu_{part}"] for part in parts) == pytest.approx(metrics["time_cpu"])
    assert metrics["time_cpu_running"] < 0.4
    assert metrics["time_cpu_launcher"] == result.report["launcher_s"]
    # What settles a worker is after its start-up: the command is called three times.
    assert metrics["time_startup"] < 1.2

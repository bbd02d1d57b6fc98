"""The launcher of a worker that is a command: bad ones, services, copies, and how they end."""

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from tests.counting import needs_events
from tests.execution.launches import CALM, LAUNCHER, REFUSED, SLEEPS, answering, worker
from waitbench.execution.accounting import LaunchReport, incomplete_in
from waitbench.model.conditions import Port
from waitbench.model.launch import ServiceConfig
from waitbench.system import tcp

UNTIL_EXIT = "window = 'until-exit'\nready = { log = 'up', within = 20 }\nstop_within = 20\n"
READY = "ready = { log = 'never', within = 0.3 }\n"


COPY = """
import os, sys, time
os.write(1, f"up {sys.argv[1]} {os.getcwd()}\\n".encode())  # copies share the file
while True: time.sleep(0.05)
"""
ONE_ENDS = COPY.replace("while True:", 'while os.getcwd().endswith("work"):') + "sys.exit(7)\n"


def counted_service(address: str, counting: Path) -> ServiceConfig:
    return ServiceConfig(
        command=(), ready=Port(value=True), stop="TERM", port=1,
        folder=str(counting.parent), log="", counters=[str(counting)],
        address=address,
    )  # fmt: skip


BACKGROUND = f"background = true\n{CALM}"
DAEMON = """
import os, signal, sys, time
if os.fork(): os._exit(0)
os.setsid()
signal.signal(signal.SIGTERM, lambda *_: (print("bye", flush=True), os._exit(0)))
print("up", flush=True)
while True: time.sleep(1)
"""
"""A worker whose command ends at once."""
FORKS_TWICE = DAEMON.replace(
    "os.setsid()", "os.setsid()\nif os.fork(): time.sleep(0.1); os._exit(0)"
)
FORKS_TWICE = FORKS_TWICE.replace('print("up"', 'time.sleep(0.3)\nprint("up"')
"""A daemon whose parent ends a little after the command."""
REDIS = {"redis": counted_service("nobody", Path("/nowhere"))}


COPIED_LATE = (
    "-c",
    f"""
import os, subprocess, sys, time
words = [sys.executable, *{[*LAUNCHER]!r}, *sys.argv[1:]]
launcher = subprocess.Popen(words, stdout=subprocess.PIPE)
time.sleep(1)
os.write(1, os.read(launcher.stdout.fileno(), 100))
sys.exit(launcher.wait())
""",
)
"""A launcher whose output is read from a pipe when its worker has long ended."""


@pytest.mark.parametrize(
    ("code", "more", "message"),
    [
        ("", {"command": "no-such-program {revision}"}, "there is no program 'no-such-program'"),
        (SLEEPS, {"more_services": REDIS}, "the service redis ended during the run"),
        (ONE_ENDS, {"copies": 2}, "with exit code 7"),
        ("", CALM, "it ended with exit code 0 before it was ready"),
        ("raise SystemExit(3)", CALM, "it ended with exit code 3 before it was ready"),
        (
            "import os, time\nif os.fork() == 0: time.sleep(60)",
            CALM,
            "its processes go on: keep it in the foreground, or set background",
        ),
        ("raise SystemExit(3)", BACKGROUND, "its command ended with exit code 3"),
        ("", BACKGROUND, "its command left no process in the background"),
        (
            SLEEPS,
            BACKGROUND.replace("within = 20", "within = 0.3"),
            "its command did not go to the background within 0.3 s",
        ),
        (
            DAEMON.replace("while True: time.sleep(1)", "time.sleep(0.5)\nsys.exit(7)"),
            BACKGROUND.replace("0.4", "60"),
            "it ended with exit code 7 after",
        ),
        (
            "import time; print('up'); time.sleep(1)",
            CALM.replace("0.4", "60"),
            "s of its window",
        ),
        (
            SLEEPS,
            READY.replace("0.3", "2"),
            "it was not ready within 2 s: no line of its output matches 'never'",
        ),
        (SLEEPS.replace("print", "len"), READY, "'never'. Does it buffer its output?"),
        (
            SLEEPS,
            "ready = { log = 'up' }\nsettled = { command = 'false', within = 0.5 }\n",
            "it was not settled within 0.5 s",
        ),
        (SLEEPS, "ready = { port = true, within = 0.3 }\n", "it was not ready within 0.3 s"),
        ("print('up', flush=True); raise SystemExit(3)", UNTIL_EXIT, "it ended with exit code 3"),
        ("import os; print('up', flush=True); os.kill(os.getpid(), 9)", UNTIL_EXIT, "by SIGKILL"),
        (
            "import os, time\nprint('up', flush=True)\nif os.fork() == 0: time.sleep(99)",
            UNTIL_EXIT.replace("stop_within = 20", "stop_within = 0.3"),
            "still ran 0.3 s after it had ended; killed",
        ),
    ],
)
def test_what_goes_wrong_is_said_and_leaves_nothing(
    code: str, more: str | dict[str, Any], message: str, tmp_path: Path
) -> None:
    result = worker(tmp_path, code, **({"more": more} if isinstance(more, str) else more))
    assert result.exit_code == 1
    assert message in result.failure
    assert ("buffer" in result.failure) is ("buffer" in message)


def test_a_command_that_ends_before_it_is_identified_leaves_no_process_that_is_waited_for(
    tmp_path: Path,
) -> None:
    code = "import os, time\nprint('up', flush=True)\nif os.fork() == 0: time.sleep(99)"
    more = UNTIL_EXIT.replace("stop_within = 20", "stop_within = 0.3")
    result = worker(tmp_path, code, more, modules=("no_such_module",))
    assert "still ran 0.3 s after it had ended; killed" in result.failure


@pytest.mark.parametrize("code", [DAEMON, FORKS_TWICE])
@pytest.mark.parametrize("copies", [1, 2])
def test_a_worker_in_the_background_is_measured_and_gets_the_signal(
    copies: int, code: str, tmp_path: Path
) -> None:
    result = worker(tmp_path, code, BACKGROUND, copies=copies)
    assert result.exit_code == 0, result.failure
    # Copies may write at the same time.
    assert [result.stdout.count(word) for word in ("up", "bye")] == [copies, copies]
    assert not result.report["incomplete"]
    assert "left" not in result.report


DEAF = f"import signal\nsignal.signal(15, signal.SIG_IGN)\n{SLEEPS}"
LEAVES = """
import os, signal, sys, time
if os.fork() == 0:
    if sys.argv[1:] == ["deaf"]: signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True: time.sleep(1)
print("up", flush=True)
while True: time.sleep(1)
"""
"""A worker that ends without its child."""
NO_ANSWER = "[poke]\ncommand = 'echo sent'\ndone = { log = 'never', within = 0.3 }\n"
UNHANDLED = "it did not handle its poke within 0.3 s: no line of its output matches 'never'"
POKED_TO_DEATH = "import os, time\nprint('up')\nwhile not os.path.exists('x'): time.sleep(0.01)"
LONG = CALM.replace("stop_within = 20", "stop_within = 2")


@pytest.mark.parametrize(
    ("code", "more", "lacking", "message"),
    [
        (DEAF, LONG, {"time_stop": 2.0}, "it did not end within 2 s of SIGTERM; killed"),
        (
            LEAVES.replace('sys.argv[1:] == ["deaf"]', "True"),
            LONG,
            {"time_stop": 2.0},
            "code.py 0' still ran within 2 s of SIGTERM; killed",
        ),
        (
            SLEEPS,
            CALM + NO_ANSWER,
            {"lateness": 0.3},
            UNHANDLED,
        ),
        (
            DEAF,
            LONG + NO_ANSWER,
            {"lateness": 0.3, "time_stop": 2.0},
            UNHANDLED,
        ),
        (
            POKED_TO_DEATH,
            f"{CALM}[poke]\ncommand = 'touch x'\ndone = {{ log = 'never', within = 7 }}\n",
            {"lateness": 7.0, "time_stop": None},
            "it ended with exit code 0 before it had handled its poke",
        ),
    ],
)
def test_what_does_not_answer_or_not_end_exceeds_its_time_limit_and_keeps_its_window(
    code: str, more: str, lacking: Mapping[str, float | None], message: str, tmp_path: Path
) -> None:
    result = worker(tmp_path, code, more, command="{revision} code.py 0")
    assert (result.exit_code, result.failure) == (0, "")
    assert result.rise("monotonic_ns") > 0.4e9
    incomplete = result.report["incomplete"]
    assert {name: why.get("more_than") for name, why in incomplete.items()} == lacking
    assert any(why["why"].endswith(message) for why in incomplete.values()), incomplete
    assert ("lateness_ns" in result.report, "time_stop" in result.report["totals"]) == (
        False,
        "time_stop" not in lacking,
    )


def test_what_a_command_leaves_behind_is_named_and_told_to_end_too(tmp_path: Path) -> None:
    result = worker(tmp_path, LEAVES, command="{revision} code.py 7")
    assert (result.exit_code, result.failure) == (0, "")
    assert result.report["left"].endswith("code.py 7'")
    assert result.report["totals"]["time_stop"] < 20
    assert result.report["incomplete"] == {}


def test_a_worker_whose_children_begin_anew_is_said_to_be_restarting(tmp_path: Path) -> None:
    code = """
import os, signal, time
print("up")
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:  # several at any moment
    if os.fork() == 0: time.sleep(1); os._exit(1)
    time.sleep(0.1)
"""
    result = worker(tmp_path, code, CALM.replace("0.4", "2"))
    assert result.exit_code == 0, result.failure
    assert result.report["totals"]["processes_replaced"] >= 1


def test_services_are_counted_together_without_what_it_takes_to_ask(
    tmp_path: Path,
) -> None:
    counts = {}
    used_s = iter(range(1000))
    for name, each in (("redis", 3), ("other", 1)):
        (tmp_path / name).mkdir()
        counting = tmp_path / name / "count"
        # Each time that it is asked it counts one more, and others between the window's ends only.
        counting.write_text(
            f"#!/bin/sh\necho x >> $0.log\nn=$(wc -l < $0.log)\n"
            f"echo requests $(( n > 2 ? n + {each} : n ))\necho odd\n"
        )
        counting.chmod(0o755)
        counts[name] = counting
    with answering(lambda: next(used_s)) as address:
        services = {name: counted_service(address, counting) for name, counting in counts.items()}
        result = worker(tmp_path, SLEEPS, more_services=services)
    totals = result.report["totals"]
    assert totals["service_requests"] == 4.0, result.failure
    # Asked in turn: 2 s from one answer to the next, less what that was before the window.
    assert totals["service_cpu_idle"] == 0.0


def test_the_cpu_of_a_service_that_loses_that_of_its_children_is_unknown(tmp_path: Path) -> None:
    with answering(lambda: math.nan) as address:
        services = {"redis": counted_service(address, Path("/bin/true"))}
        result = worker(tmp_path, SLEEPS, more_services=services)
    assert result.exit_code == 0, result.failure
    assert "service_cpu_idle" not in result.report["totals"]
    assert "service_cpu_idle" in incomplete_in(convert(result.report, LaunchReport))


ASKS = """
import socket, sys
def ask(client):
    client.sendall(b"x" * 10)
    client.recv(3, socket.MSG_WAITALL)
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as stays:
    for _ in range(100): ask(stays)
    for _ in range(20):
        with socket.create_connection(stays.getpeername()) as goes: ask(goes)
"""
ECHO = """
import socketserver, sys
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(10): self.request.sendall(b"abc")
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.mark.skipif(not tcp.is_traffic_counted(), reason="the kernel does not count here")
@pytest.mark.parametrize(("more", "requests"), [("", 120), ("counters = 'echo requests 7'", 0)])
def test_requests_are_counted_by_the_kernel_unless_the_service_has_a_command_that_does(
    more: str, requests: int, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", ECHO, "{port}"]
    tables = f"[services.echo]\ncommand = {json.dumps(command)}\n{more}\n"
    result = worker(
        tmp_path, ASKS, f"window = 'until-exit'\n{tables}",
        command="{revision} code.py {echo.port}",
    )  # fmt: skip
    assert result.exit_code == 0, result.failure
    totals = result.report["totals"]
    assert totals["service_requests"] == requests
    # The end of a connection counts as a byte.
    assert ("service_bytes" in totals) == (requests > 0)
    assert 0 <= totals.get("service_bytes", 13 * requests) - 13 * requests <= 21


WORKS = "for _ in range(100): open({log!r}, 'a').write('x')\n"
ANSWERS = "import time\ntime.sleep(0.3)\nprint('up', flush=True)\n"


@pytest.mark.parametrize(
    ("code", "more"),
    [(WORKS, "window = 'until-exit'\n"), (f"{ANSWERS}time.sleep(1)\n{WORKS}", UNTIL_EXIT)],
    ids=["judged from its start", "judged from when it is ready"],
)
def test_all_that_a_service_does_for_what_ends_by_itself_is_counted(
    code: str, more: str, tmp_path: Path
) -> None:
    """It works as soon as it starts: nobody asks the service what it did before, meanwhile."""
    log, counting = tmp_path / "log", tmp_path / "count"
    log.touch()
    counting.write_text(f"#!/bin/sh\nprintf x >> {log}\necho requests $(wc -c < {log})\n")
    counting.chmod(0o755)
    with answering(lambda: 0) as address:
        service = counted_service(address, counting)
        code = code.format(log=str(log))
        result = worker(tmp_path / "run", code, more, more_services={"redis": service})
    assert result.exit_code == 0, result.failure
    assert result.report["totals"]["service_requests"] == 100.0


@pytest.mark.parametrize("message", ["nan", "1e+19"])
def test_what_a_service_counts_that_is_no_number_is_a_failure_and_not_nothing(
    tmp_path: Path, message: str
) -> None:
    counting = tmp_path / "count"
    counting.write_text(f"#!/bin/sh\necho requests {message}\n")
    counting.chmod(0o755)
    with answering(lambda: 0) as address:
        result = worker(
            tmp_path, SLEEPS, more_services={"redis": counted_service(address, counting)}
        )
    assert f"the command that counts for redis printed 'requests {message}'" in result.failure


def test_copies_have_folders_and_ports_of_their_own_and_are_counted_and_ended_together(
    tmp_path: Path,
) -> None:
    # Only those that are not the first wake up.
    code = COPY.replace("0.05", '9 if os.getcwd().endswith("work") else 0.05')
    result = worker(tmp_path, code, copies=3)
    assert result.exit_code == 0, result.failure
    copies = [line.split() for line in result.stdout.splitlines()]
    assert len({port for _, port, _ in copies}) == 3
    assert {Path(folder).name for *_, folder in copies} == {"work", "work-1", "work-2"}
    assert result.rise("wakeups") > 0
    assert result.report["totals"]["memory_proportional"] > 0


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
        result = worker(tmp_path, code, copies=8)
    finally:
        os.sched_setaffinity(0, allowed)
    assert result.exit_code == 0, result.failure
    lines = result.stdout.replace("up", "").split()
    assert len(lines) == 8
    assert sum(map(int, lines)) <= result.report["marks"]["exit"]["switches"]


ENDS = """
import subprocess, sys, time
print("up", flush=True)
subprocess.run([sys.executable, "-S", "-c", "sum(range(3_000_000))"], check=True)
time.sleep(0.2)
"""


def test_the_output_of_an_ended_worker_may_reach_its_file_late(tmp_path: Path) -> None:
    result = worker(tmp_path, "print('up')", UNTIL_EXIT, program=COPIED_LATE)
    assert (result.exit_code, result.failure, result.stdout) == (0, "", "up\n")


@pytest.mark.parametrize("program", [LAUNCHER, REFUSED], ids=["counted", "refused"])
def test_what_ends_by_itself_is_judged_until_all_of_it_has_ended(
    program: Sequence[str], tmp_path: Path
) -> None:
    result = worker(tmp_path, ENDS, UNTIL_EXIT, program=program)
    assert result.exit_code == 0, result.failure
    totals = result.report["totals"]
    assert result.rise("monotonic_ns") > 0.2e9
    assert result.rise("cpu_s") > 0
    assert not {"memory_proportional", "time_stop"} & totals.keys()
    assert result.report["marks"]["end"]["cpu_s"] == result.report["marks"]["exit"]["cpu_s"]
    # What has no time to get ready is judged from its start.
    quick = worker(tmp_path / "quick", "print('done')", "window = 'until-exit'\n", program=program)
    assert quick.exit_code == 0, quick.failure
    assert quick.rise("monotonic_ns") > 0


@pytest.mark.parametrize(("code", "exit_code"), [("", 0), ("import sys; sys.exit(3)", 1)])
def test_copies_that_end_by_themselves_are_all_waited_for(
    code: str, exit_code: int, tmp_path: Path
) -> None:
    slow = "import os, time\nif os.getcwd().endswith('work-1'): time.sleep(0.5)\n"
    slow += "print('up', flush=True)\nif os.getcwd().endswith('work-1'):\n"
    slow += f"    time.sleep(0.5)\n    print('late', flush=True)\n{code}\n"
    result = worker(tmp_path, slow, UNTIL_EXIT, copies=2)
    assert result.exit_code == exit_code, result.failure
    words = result.stdout.split()
    assert ("late" in words) == (exit_code == 0)
    assert ("with exit code 3" in result.failure) == bool(exit_code)


FLOOD = "{revision} -c 'import time; print(chr(120) * 2**25, flush=True); time.sleep(600)'"
WIDE = "within = 60"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (f"[poke]\ncommand = {json.dumps(FLOOD)}\ndone = {{ exit = true, {WIDE} }}\n", "the poke"),
        (
            f"[poke]\ncommand = 'true'\ndone = {{ command = {json.dumps(FLOOD)}, {WIDE} }}\n",
            "the command ",
        ),
    ],
)
def test_what_a_command_beside_a_worker_prints_without_end_ends_it_and_not_the_disk(
    more: str, expected: str, tmp_path: Path
) -> None:
    result = worker(tmp_path, SLEEPS, CALM + more)
    why = result.report["incomplete"]["lateness"]["why"]
    assert why.startswith(expected)
    assert "wrote more than 16 MiB to its output" in why


@pytest.mark.parametrize(
    ("name", "trap"),
    [
        ("failure", "os.mkfifo(path)"),
        ("called", "os.symlink('/dev/zero', path)"),
        ("poke", "os.mkfifo(path)"),
    ],
)
def test_no_file_that_a_worker_can_touch_is_waited_for_or_read_without_end(
    name: str, trap: str, tmp_path: Path
) -> None:
    code = f"import os; path = '../{name}'; {trap}\n"
    code += "raise SystemExit(3)" if name == "failure" else SLEEPS
    poke = "[poke]\ncommand = 'true'\ndone = { command = 'true', within = 0.5 }\n"
    result = worker(tmp_path, code, CALM + poke)
    if name == "failure":
        assert result.failure.startswith("it ended with exit code 3")
    else:
        assert result.report["incomplete"] == {}

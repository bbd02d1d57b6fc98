"""What a worker waits after: a message, a service or a client that is gone, one that is back."""

import re
import sys
from pathlib import Path

import pytest

from tests.execution.launches import CALM, Launched, worker
from tests.worker_gates import Behaviour, gates_of
from waitbench.model.verdicts import GateStatus

SERVICE = """
import socket, sys
server, connections = socket.create_server(("127.0.0.1", int(sys.argv[1]))), []
while True: connections.append(server.accept())
"""
CODE = """
import os, select, signal, socket, sys, time

spins = sys.argv[2]


def spin(when):
    while spins == when: pass


def connected():
    try: return socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    except OSError: return None


def handle(*_):
    print("done", flush=True)
    spin("work")


signal.signal(signal.SIGUSR1, handle)
connection, has_been_lost = connected(), False
open("pid", "w").write(str(os.getpid()))
print("up", flush=True)
while True:
    while connection is None:
        if spins != "gone": time.sleep(0.1)
        connection = connected()
    if has_been_lost: spin("back")
    select.select([connection], [], [])
    connection.close()
    connection, has_been_lost = None, True
    if spins == "ends": sys.exit(7)
"""
"""A worker that is connected to its service, handles a signal, and spins from a moment on."""
PHASES = """
[[phase]]
name = "work"
poke = true
[[phase]]
name = "gone"
stop = "other"
[[phase]]
name = "back"
start = "other"
"""
TABLES = f"""{PHASES}seconds = 0.5
[services.other]
command = ["{sys.executable}", "-c", '''{SERVICE}''', "{{port}}"]
counters = ["echo", "requests 3"]
[poke]
command = ["sh", "-c", "kill -USR1 $(cat pid)"]
done = {{ log = "done" }}
"""


def run(folder: Path, spins: str, phase: str = "", tables: str = TABLES) -> Launched:
    """A run in a folder of its own."""
    return worker(
        folder / f"{spins}-{phase}", CODE, CALM + tables,
        command=f"{{revision}} code.py {{other.port}} {spins}",
        scenario=f"mine-{phase}" if phase else "mine",
    )  # fmt: skip


@pytest.mark.parametrize("spins", ["work", "gone", "back"])
def test_what_spins_in_a_phase_is_seen_there_and_neither_idle_nor_in_its_twin(
    spins: str, tmp_path: Path
) -> None:
    runs = [run(tmp_path, spins, spins), run(tmp_path, spins), run(tmp_path, "never", spins)]
    assert not [it.failure for it in runs if it.failure]
    spinning_s, *others_s = (it.rise("cpu_s") for it in runs)
    assert spinning_s > 4 * max(others_s), (spinning_s, others_s)
    assert ["lateness_ns" in it.report for it in runs] == [spins != "gone", True, spins != "gone"]
    requests = ["service_requests" in it.report["totals"] for it in runs]
    assert requests == [spins != "gone", True, spins != "gone"]
    assert all("service_cpu_idle" in it.report["totals"] for it in runs)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"kill -USR1 $(cat pid)"', '"exit 4"',
            "the poke ended with exit code 4, in its phase work",
        ),
        (
            'stop = "other"', "run = ['sh', '-c', 'echo no; exit 3']",
            "the command in its phase gone ended with exit code 3: no",
        ),
    ],
)  # fmt: skip
def test_a_poke_and_a_command_that_fail_in_a_phase_are_failures(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    tables = TABLES.replace(old, new).replace('start = "other"', 'run = "true"')
    assert message in run(tmp_path, "never", "gone", tables).failure


def test_a_message_that_is_not_handled_in_a_phase_leaves_the_window_behind_it(
    tmp_path: Path,
) -> None:
    tables = TABLES.replace('"done"', '"never", within = 0.3')
    result = run(tmp_path, "never", "work", tables)
    assert (result.exit_code, result.failure) == (0, "")
    assert result.rise("monotonic_ns") > 0.4e9
    message = "it did not handle its poke within 0.3 s: no line of its output matches 'never'"
    message += ", in its phase work"
    assert result.report["incomplete"] == {"lateness": {"why": message, "more_than": 0.3}}


@pytest.mark.parametrize("may_end", [False, True])
def test_a_worker_that_ends_without_its_service_has_failed_unless_it_may(
    may_end: bool, tmp_path: Path
) -> None:
    stops = 'stop = "other"\nmay_end = true' if may_end else 'stop = "other"'
    result = run(tmp_path, "ends", "gone", TABLES.replace('stop = "other"', stops))
    message = "it ended with exit code 7 before it was settled in its phase gone"
    assert (result.failure, result.ended) == (("", message) if may_end else (message, ""))


SERVER = """
import socket, sys, time
after, server = sys.argv[2], socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("up", flush=True)
if sys.argv[3] == "closed": sys.stdin.read()
else:
    client, _ = server.accept()
    try:
        while data := client.recv(99): print(data, flush=True)
    except ConnectionResetError: print("reset", flush=True)
while after == "spins": pass
if after == "stays": time.sleep(60)
sys.exit(3)
"""
CLIENTS = 'stdin = "open"\n' + CALM.replace("0.4", "0.6")
CLOSED = CLIENTS + '[[phase]]\nname = "closed"\nclose = "stdin"\nmust_end = true\n'
RESET = CLIENTS + '[[phase]]\nname = "reset"\nreset = "GET {port}"\nmust_end = true\n'


def serve(folder: Path, after: str, text: str, phase: str) -> Launched:
    return worker(
        folder / after, SERVER, text,
        command=f"{{revision}} code.py {{port}} {after} {phase}", scenario=f"mine-{phase}",
    )  # fmt: skip


@pytest.mark.parametrize(("text", "phase"), [(CLOSED, "closed"), (RESET, "reset")])
def test_a_server_whose_client_is_gone_ends_in_the_window_or_is_longer_than_that(
    text: str, phase: str, tmp_path: Path
) -> None:
    ends, stays, spins = (serve(tmp_path, it, text, phase) for it in ("ends", "stays", "spins"))
    assert [it.failure for it in (ends, stays, spins)] == [""] * 3
    assert 0 < ends.report["totals"]["time_stop"] < 0.6
    assert ends.report["incomplete"] == {}
    for result in (stays, spins):
        assert "time_stop" not in result.report["totals"]
        assert result.report["incomplete"]["time_stop"]["more_than"] == 0.6
        why = result.report["incomplete"]["time_stop"]["why"]
        assert why.endswith(f"still ran 0.6 s after its phase {phase} began; killed")
    if phase == "reset":
        sent, reset = re.findall(r"b'GET (\d+)'\n(reset)", ends.stdout)[0]
        assert (int(sent) > 0, reset) == (True, "reset")
    assert spins.rise("cpu_s") > 4 * max(ends.rise("cpu_s"), stays.rise("cpu_s"))
    assert all(it.rise("monotonic_ns") > 0.59e9 for it in (ends, stays, spins))


def test_a_server_may_go_on_after_its_client_and_is_ended_as_any_other(tmp_path: Path) -> None:
    result = serve(tmp_path, "stays", CLOSED.replace("must_end = true\n", ""), "closed")
    assert (result.failure, "time_stop" in result.report["totals"]) == ("", True)


def test_a_client_that_is_refused_is_a_failure(tmp_path: Path) -> None:
    code = SERVER.replace("int(sys.argv[1])", "0").replace('"up"', '"up", sys.argv[1]')
    result = worker(
        tmp_path / "run", code, RESET, command="{revision} code.py {port} ends reset",
        scenario="mine-reset",
    )  # fmt: skip
    assert result.failure == "its port takes no client in its phase reset: Connection refused"


@pytest.mark.parametrize("where", ["mine-work", "mine-gone", "mine-back"])
def test_what_spins_in_one_phase_fails_the_gate_and_its_twin_does_not(
    where: str, tmp_path: Path
) -> None:
    phases = f'{PHASES}[services.other]\ncommand = "serve {{port}}"\n'
    spinning = gates_of(tmp_path, Behaviour(spins_after_s=1.0), 5, phases=phases, where=where)
    assert [*spinning] == [GateStatus.FAIL]
    assert GateStatus.FAIL not in gates_of(tmp_path, Behaviour(), 5, phases=phases, where=where)

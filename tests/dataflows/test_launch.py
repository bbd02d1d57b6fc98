"""The launcher of a run's processes: ports, order, reports, signals."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support import launch

from tests.waiting import until
from waitbench.system.places import DATAFLOWS

LAUNCH = DATAFLOWS / "support" / "launch.py"


def test_reserved_ports_are_distinct_free_and_not_given_twice() -> None:
    held, ports = launch.reserve_ports(5)
    others_held, others = launch.reserve_ports(5)
    assert len({*ports, *others}) == 10
    for port in ports:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
    del held, others_held


def test_a_port_that_somebody_listens_on_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        taken = listener.getsockname()[1]
        monkeypatch.setattr(launch, "_PORTS", range(taken, taken + 1))
        with pytest.raises(SystemExit):
            launch.reserve_ports(1)


def test_ports_are_locked_where_nobody_else_can_lay_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("a file of root's")
    monkeypatch.setenv("HOME", "/proc/no/such/home")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = tmp_path / f"waitbench-ports-{os.getuid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    with pytest.raises(SystemExit, match="this user's alone"):
        launch.reserve_ports(1)
    folder.chmod(0o700)
    for port in launch._PORTS:
        (folder / str(port)).symlink_to(precious)
    with pytest.raises(SystemExit, match="no 1 free loopback ports"):
        launch.reserve_ports(1)
    assert precious.read_text() == "a file of root's"


def test_a_folder_of_ports_that_is_a_link_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/proc/no/such/home")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"waitbench-ports-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SystemExit, match="this user's alone"):
        launch.reserve_ports(1)


def start(
    tmp_path: Path, processes: int, code: str, stdout: int | None = None
) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-I",
        "-S",
        str(LAUNCH),
        str(tmp_path / "report.json"),
        str(processes),
        sys.executable,
        "-c",
        code,
        "{index}",
        "{addresses}",
    ]
    return subprocess.Popen(command, stdout=stdout)


def test_the_launcher_reports_what_each_child_used(tmp_path: Path) -> None:
    code = "x = bytearray(50_000_000)\nfor _ in range(3_000_000): pass"
    assert start(tmp_path, 1, code).wait(30) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    (child,) = report["children"]
    assert child["exit_code"] == 0
    assert child["user_s"] > 0
    assert child["rss_bytes"] > 50_000_000
    assert report["launcher"]["pid"] != child["pid"]


def test_the_launcher_tells_when_each_child_ended(tmp_path: Path) -> None:
    slow = "import atexit, time; atexit.register(time.sleep, 0.5); print(time.monotonic_ns())"
    running = start(tmp_path, 1, slow, stdout=subprocess.PIPE)
    said, _ = running.communicate(timeout=30)
    (child,) = json.loads((tmp_path / "report.json").read_text())["children"]
    assert child["ended_ns"] - int(said) >= 500_000_000


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
    assert start(tmp_path, 3, slow).wait(30) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert [child["exit_code"] for child in report["children"]] == [0, 0, 0]


def test_when_one_process_dies_the_rest_are_killed_and_its_exit_code_is_passed_on(
    tmp_path: Path,
) -> None:
    code = PEER + "sys.exit(9) if index == 1 else time.sleep(600)"
    assert start(tmp_path, 3, code).wait(30) == 9
    report = json.loads((tmp_path / "report.json").read_text())
    assert sorted(child["exit_code"] for child in report["children"]) in ([9, 137, 137], [9, 137])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_processes(number: signal.Signals, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    code = (
        "import signal, time; signal.signal(2, signal.SIG_DFL); "
        f"open({str(marker)!r}, 'w'); time.sleep(600)"
    )
    process = start(tmp_path, 1, code)
    until(marker.exists)
    os.kill(process.pid, number)
    assert process.wait(10) == 128 + number

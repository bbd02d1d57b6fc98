"""What runs beside the workloads: histogram, schedule, launcher. Tested on this Python; the rest needs bytewax."""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waitbench.system.places import DATAFLOWS

LAUNCH = DATAFLOWS / "support" / "launch.py"


def load(name: str) -> ModuleType:
    """A support module that imports nothing of bytewax."""
    sys.path.insert(0, str(DATAFLOWS))
    try:
        return importlib.import_module(f"support.{name}")
    finally:
        sys.path.remove(str(DATAFLOWS))


histogram, items, launch = load("histogram"), load("items"), load("launch")


@given(st.integers(0, 2**50))
def test_a_value_read_back_is_within_the_stated_error(value: int) -> None:
    recorded = histogram.Histogram()
    recorded.record(value)
    ((read, count),) = recorded.values()
    assert count == 1
    assert abs(read - value) <= histogram.RELATIVE_ERROR * value


@given(st.lists(st.integers(-5, 2**40), min_size=1))
def test_a_histogram_counts_everything_in_order_and_keeps_the_exact_maximum(values: list[int]) -> None:
    recorded = histogram.Histogram()
    for value in values:
        recorded.record(value)
    read = recorded.values()
    assert sum(count for _, count in read) == len(values)
    assert [value for value, _ in read] == sorted({value for value, _ in read})
    assert recorded.maximum == max(0, *values)


class Clock:
    """A monotonic clock that a test sets."""

    now_ns = 10**12

    def monotonic_ns(self) -> int:
        return self.now_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(items, "time", clock)
    return clock


def test_items_are_due_on_a_fixed_schedule_whenever_they_are_fetched(clock: Clock) -> None:
    reader = items.Reader(100, 3, items.Schedule(0.25), seed=1)
    start = clock.now_ns
    assert reader.next_item() is None
    clock.now_ns = start + 249_999_999
    assert reader.next_item() is None
    clock.now_ns = start + 800_000_000  # late: three are due by now
    fetched = [reader.next_item() for _ in range(3)]
    assert [(ident, due - start) for ident, due, _ in fetched] == [
        (100, 250_000_000),
        (101, 500_000_000),
        (102, 750_000_000),
    ]
    with pytest.raises(StopIteration):
        reader.next_item()


def test_bursts_come_together_after_silence_and_idle_ends_by_itself(clock: Clock) -> None:
    start = clock.now_ns
    burst = items.Reader(0, 4, items.Schedule(1.0, burst=2), seed=1)
    assert burst.next_item() is None
    clock.now_ns = start + 1_000_000_000
    assert [burst.next_item()[1] - start for _ in range(2)] == [1_000_000_000] * 2
    assert burst.next_item() is None
    idle = items.Reader(0, 0, items.Schedule(idle_s=2.0), seed=1)
    assert idle.next_item() is None
    clock.now_ns += 1_999_999_999
    assert idle.next_item() is None
    clock.now_ns += 1
    with pytest.raises(StopIteration):
        idle.next_item()


def test_all_at_once_means_at_once(clock: Clock) -> None:
    reader = items.Reader(0, 2, items.Schedule(), seed=1)
    assert [reader.next_item()[0] for _ in range(2)] == [0, 1]
    with pytest.raises(StopIteration):
        reader.next_item()


def test_the_same_seed_gives_the_same_digits(clock: Clock) -> None:
    def digits(seed: int) -> list[int]:
        reader = items.Reader(7, 50, items.Schedule(), seed)
        return [reader.next_item()[2] for _ in range(50)]

    assert digits(1) == digits(1) != digits(2)


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


def start(tmp_path: Path, processes: int, code: str) -> subprocess.Popen[bytes]:
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
    ]
    return subprocess.Popen(command)


def test_the_launcher_reports_what_each_child_used(tmp_path: Path) -> None:
    assert start(tmp_path, 1, "x = bytearray(50_000_000)\nfor _ in range(3_000_000): pass").wait(30) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    (child,) = report["children"]
    assert child["exit_code"] == 0
    assert child["user_s"] > 0
    assert child["rss_bytes"] > 50_000_000
    assert report["launcher"]["pid"] != child["pid"]


PEER = """
import socket, sys, time
index, addresses = int(sys.argv[2]), sys.argv[4].split(";")
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


def test_when_one_process_dies_the_rest_are_killed_and_its_exit_code_is_passed_on(tmp_path: Path) -> None:
    code = PEER + "sys.exit(9) if index == 1 else time.sleep(600)"
    assert start(tmp_path, 3, code).wait(30) == 9
    report = json.loads((tmp_path / "report.json").read_text())
    assert sorted(child["exit_code"] for child in report["children"]) in ([9, 137, 137], [9, 137])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_processes(number: signal.Signals, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    process = start(
        tmp_path, 1, f"import signal, time; signal.signal(2, signal.SIG_DFL); open({str(marker)!r}, 'w'); time.sleep(600)"
    )
    end = time.monotonic() + 20
    while not marker.exists() and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(process.pid, number)
    assert process.wait(10) == 128 + number

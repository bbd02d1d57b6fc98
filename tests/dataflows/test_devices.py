"""Devices that are real: files, and processes that are asked, killed, and shared by producers."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from outputs.device import DeviceError, FileDevice, Server
from outputs.paged import PagedWriter
from outputs.regular import RegularWriter

from tests.waiting import until
from waitbench.system.places import DATAFLOWS


@pytest.fixture(params=["noop", "passthrough"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    found = Server(request.param, str(tmp_path / "read"))
    yield found
    if found.process.returncode is None:
        found.close()


def test_real_devices_acknowledge_and_pass_on(server: Server, tmp_path: Path) -> None:
    regular, paged = (
        RegularWriter(server.connect()),
        PagedWriter(server.connect(), overflow="block"),
    )
    for number in range(500):
        regular.send(b"r%03d" % number)
    for number in range(5000):
        paged.send(b"p%03d" % (number % 1000))
    paged.close()
    regular.close()
    assert regular.stats().sent == 500
    assert paged.stats().sent == 5000
    passes_on = server.reader_pid is not None
    server.close()
    read = (tmp_path / "read").read_bytes() if passes_on else b""
    assert len(read) == (4 * 5500 if passes_on else 0)


def test_the_file_device_appends(tmp_path: Path) -> None:
    writer = PagedWriter(FileDevice(str(tmp_path / "out")), page_size=100, overflow="block")
    for number in range(1000):
        writer.send(f"{number:04}\n")
    writer.close()
    assert (tmp_path / "out").read_text().split() == [f"{number:04}" for number in range(1000)]


def test_the_file_device_says_what_the_disk_says() -> None:
    writer = PagedWriter(FileDevice("/dev/full"), overflow="block")
    writer.send(b"x")
    until(lambda: writer.error is not None)
    assert "No space left" in str(writer.error)
    writer.close()


@pytest.mark.parametrize("whose", ["server", "reader"])
def test_a_device_that_is_killed_loses_nothing_uncounted(whose: str, tmp_path: Path) -> None:
    server = Server("passthrough", str(tmp_path / "read"))
    writer = PagedWriter(server.connect(), page_size=64, buffer=1000, overflow="block")
    regular = RegularWriter(server.connect())
    for number in range(2000):
        writer.send(b"%06d\n" % number)
        if number == 1000:
            pid = server.process.pid if whose == "server" else server.reader_pid
            assert pid
            os.kill(pid, signal.SIGKILL)
    writer.close()
    stats = writer.stats()
    assert stats.total == 2000 == stats.sent + stats.dropped
    assert stats.dropped > 0
    assert isinstance(writer.error, DeviceError)
    with pytest.raises(DeviceError):
        for _ in range(3):
            regular.send(b"x")
    assert regular.stats().total == regular.stats().sent + regular.stats().dropped
    regular.close()
    server.close()


def test_a_device_goes_with_whoever_started_it_and_leaves_nothing() -> None:
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from outputs.device import Server\n"
        "print(Server('passthrough').address, flush=True)\ntime.sleep(600)\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program, str(DATAFLOWS)], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip()).parent
    assert folder.exists()
    owner.kill()
    owner.communicate()
    until(lambda: not folder.exists())


def test_producers_in_several_processes_share_a_device(tmp_path: Path) -> None:
    server = Server("passthrough", str(tmp_path / "read"))
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from outputs.device import Connection\nfrom outputs.paged import PagedWriter\n"
        "writer = PagedWriter(Connection(sys.argv[2]), page_size=256, overflow='block')\n"
        "for number in range(3000): writer.send('%s%05d\\n' % (sys.argv[3], number))\n"
        "writer.close(); print(writer.stats().sent)\n"
    )
    producers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(DATAFLOWS), server.address, name],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "abcd"
    ]
    assert [producer.communicate(timeout=60)[0].strip() for producer in producers] == ["3000"] * 4
    server.close()
    lines = (tmp_path / "read").read_text().split()
    for name in "abcd":
        assert [line for line in lines if line[0] == name] == [
            f"{name}{number:05d}" for number in range(3000)
        ]

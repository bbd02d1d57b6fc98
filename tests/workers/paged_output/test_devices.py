"""Devices that are real processes, asked, killed, and shared by producers."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from device import KINDS, DeviceError, Server
from paged import PagedWriter
from regular import RegularWriter

from tests.waiting import until
from waitbench.system.places import WORKERS


@pytest.mark.parametrize("kind", KINDS)
def test_real_devices_acknowledge_and_pass_on(kind: str, tmp_path: Path) -> None:
    server = Server(kind, str(tmp_path / "read"))
    regular = RegularWriter(server.connect())
    paged = PagedWriter(server.connect(), overflow="block")
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
    # In whole messages, whoever wrote them, and as they were: a terminal changes nothing.
    assert len(read) == (4 * 5500 if passes_on else 0)
    assert read.count(b"r") == (500 if passes_on else 0)


@pytest.mark.parametrize("kind", ["passthrough", "user"])
@pytest.mark.parametrize("whose", ["server", "reader"])
def test_a_device_that_is_killed_loses_nothing_uncounted(
    kind: str, whose: str, tmp_path: Path
) -> None:
    server = Server(kind, str(tmp_path / "read"))
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
        "from device import Server\n"
        "print(Server('passthrough').address, flush=True)\ntime.sleep(600)\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program, str(WORKERS / "paged-output")],
        stdout=subprocess.PIPE,
        text=True,
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
        "from device import Connection\nfrom paged import PagedWriter\n"
        "writer = PagedWriter(Connection(sys.argv[2]), page_size=256, overflow='block')\n"
        "for number in range(3000): writer.send('%s%05d\\n' % (sys.argv[3], number))\n"
        "writer.close(); print(writer.stats().sent)\n"
    )
    producers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(WORKERS / "paged-output"), server.address, name],
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

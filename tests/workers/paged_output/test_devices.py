"""Devices that are real processes: shared by writers, killed, and measured by bench.py."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest
from device import KINDS, DeviceError, Server
from paged import PagedWriter
from regular import RegularWriter

from tests.waiting import until


@pytest.mark.parametrize("kind", KINDS)
def test_real_devices_acknowledge_and_pass_on_whole_messages_in_order(
    kind: str, tmp_path: Path
) -> None:
    server = Server(kind, str(tmp_path / "read"))
    regular = RegularWriter(server.connect())
    paged = PagedWriter(server.connect(), overflow="block")
    for number in range(500):
        regular.send(b"r%04d" % number)
    for number in range(5000):
        paged.send(b"p%04d" % number)
    paged.close()
    regular.close()
    assert (regular.stats().sent, paged.stats().sent) == (500, 5000)
    passes_on = server.reader_pid is not None
    server.close()
    # Whoever wrote them, and as they were: a terminal changes nothing.
    read = (tmp_path / "read").read_bytes() if passes_on else b""
    messages = [read[start : start + 5] for start in range(0, len(read), 5)]
    for name, count in ((b"r", 500), (b"p", 5000)):
        theirs = [message for message in messages if message[:1] == name]
        assert theirs == [name + b"%04d" % number for number in range(count if passes_on else 0)]


def _has_ended(pid: int) -> bool:
    return not Path(f"/proc/{pid}/fd/0").exists()


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
            # What it had open stays so until it has ended, on a busy machine for a while.
            until(partial(_has_ended, pid))
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

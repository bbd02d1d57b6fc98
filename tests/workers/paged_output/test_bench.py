"""What bench.py measures of each way to write."""

import threading

import pytest
from bench import Writer, write
from paged import PagedWriter
from regular import RegularWriter

from tests.workers.paged_output.recorder import Recorder, held_up
from waitbench.engines.worker import file as worker_file
from waitbench.system.places import WORKERS

LINES = [b"one\n", b"three\n"]


@pytest.mark.parametrize("make", [RegularWriter, PagedWriter])
def test_every_message_is_counted_once_whatever_was_written_before(make: type[Writer]) -> None:
    device = Recorder()
    writer = make(device)
    write(writer, LINES, 4)
    found = write(writer, LINES, 10)
    writer.close()
    assert set(found) == set(worker_file.read(WORKERS / "paged-output" / "bench.toml").metrics)
    assert (found["total"], found["dropped"]) == (10, 0)
    assert found["rate"] == pytest.approx(10 / found["time"])
    assert b"".join(device.pages) == b"".join(LINES * 7)


def test_what_is_shed_is_counted_as_dropped() -> None:
    device = held_up()
    writer = PagedWriter(device, buffer=2)
    # Two may be under way, in a page, and two wait.
    threading.Timer(0.2, device.free.set).start()
    found = write(writer, LINES, 10)
    writer.close()
    assert found["total"] == 10
    assert found["dropped"] == 10 - len(b"".join(device.pages).splitlines()) >= 6

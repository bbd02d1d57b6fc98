"""Writers that are given nonsense, whose device fails in odd ways, or whose process forks."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from device import Connection, DeviceError
from paged import PagedWriter
from regular import RegularWriter
from stats import Stats

from tests.waiting import until
from tests.workers.paged_output.recorder import Recorder, held_up

Build = Callable[..., Any]


@pytest.fixture(params=[RegularWriter, PagedWriter])
def build(request: pytest.FixtureRequest) -> Build:
    made: Build = request.param
    return made


def counts(stats: Stats) -> tuple[int, int, int, int]:
    return stats.total, stats.sent, stats.dropped, stats.in_flight


@pytest.mark.parametrize("message", [5, None, ["a"]])
def test_what_is_no_message_is_refused_and_changes_nothing(build: Build, message: object) -> None:
    device = Recorder()
    writer = build(device)
    with pytest.raises(TypeError, match="a message is text or bytes, not"):
        writer.send(message)
    assert counts(writer.stats()) == (0, 0, 0, 0)
    assert writer.send(b"as before")
    writer.close()
    assert device.pages == [b"as before"]


@pytest.mark.parametrize("kind", [bytearray, lambda data: memoryview(bytearray(data))])
def test_what_can_be_changed_is_copied(kind: Callable[[bytes], Any]) -> None:
    device = held_up()
    writer = PagedWriter(device)
    message = kind(b"early")
    writer.send(message)
    message[:] = b"late!"
    device.free.set()
    writer.close()
    assert device.pages == [b"early"]


class Failing(Recorder):
    """A device that fails, also as no device should."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def write(self, data: bytes) -> None:
        raise self.error


ERRORS = [DeviceError("out of paper"), MemoryError(), SystemExit(3), KeyboardInterrupt()]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_whatever_a_device_raises_is_counted_and_passed_on(error: BaseException) -> None:
    writer = RegularWriter(Failing(error))
    with pytest.raises(type(error)):
        writer.send(b"x")
    assert counts(writer.stats()) == (1, 0, 1, 0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_whatever_a_device_raises_in_the_thread_is_kept_and_counted(error: BaseException) -> None:
    writer = PagedWriter(Failing(error), buffer=10, overflow="block")
    writer.send(b"x")
    until(lambda: writer.stats().dropped == 1)
    assert writer.error is error
    assert not any(writer.send(b"y") for _ in range(50)), "a dead device blocks nobody"
    writer.flush()
    assert counts(writer.stats()) == (51, 0, 51, 0)
    writer.close()


@pytest.fixture
def listener(tmp_path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(tmp_path / "device"))
    listening.listen()
    return listening


def test_an_acknowledgement_that_comes_too_late_is_nobodys(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device._ANSWERS_WITHIN_S", 0.05)
    writer = RegularWriter(Connection(listener.getsockname()))
    device, _ = listener.accept()
    with pytest.raises(DeviceError, match="does not answer: timed out"):
        writer.send(b"first")
    device.sendall(b"\x06")
    with pytest.raises(DeviceError, match="not used any more: the output device does not answer"):
        writer.send(b"second")
    assert counts(writer.stats()) == (2, 0, 2, 0)
    device.close()
    writer.close()
    listener.close()


def test_a_wrong_answer_ends_a_connection(listener: socket.socket) -> None:
    connection = Connection(listener.getsockname())
    device, _ = listener.accept()
    device.sendall(b"?\x06")
    with pytest.raises(DeviceError, match=r"answered b'\?'"):
        connection.write(b"first")
    with pytest.raises(DeviceError, match="not used any more"):
        connection.write(b"second")
    device.close()
    connection.close()
    listener.close()


@pytest.mark.parametrize(("overflow", "arrive"), [("drop-oldest", b"xbc"), ("drop-newest", b"xab")])
def test_a_producer_that_waits_for_room_goes_on_by_the_new_rule(
    overflow: str, arrive: bytes
) -> None:
    device = held_up()
    writer = PagedWriter(device, buffer=2, overflow="block")
    writer.send(b"x")
    until(lambda: not writer._buffer.waiting)
    writer.send(b"a")
    writer.send(b"b")
    taken: list[bool] = []
    producer = threading.Thread(target=lambda: taken.append(writer.send(b"c")))
    producer.start()
    until(lambda: len(writer._emptied._waiters) == 1)  # type: ignore[attr-defined]
    writer.configure(overflow=overflow)
    producer.join(20)
    assert taken == [overflow == "drop-oldest"]
    device.free.set()
    writer.close()
    assert b"".join(device.pages) == arrive
    assert counts(writer.stats()) == (4, 3, 1, 0)


def test_a_forked_writer_is_refused_and_the_first_goes_on(build: Build) -> None:
    device = Recorder()
    writer = build(device)
    writer.send(b"parent ")
    pid = os.fork()
    if pid == 0:
        refused = 0
        for use in (lambda: writer.send(b"child"), writer.stats):
            try:
                use()
            except RuntimeError:
                refused += 1
        os._exit(0 if refused == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    writer.send(b"again")
    writer.close()
    assert b"".join(device.pages) == b"parent again"

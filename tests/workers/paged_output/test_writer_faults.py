"""Writers whose device fails in odd ways, or whose thread dies."""

import socket
from pathlib import Path

import pytest
from device import Connection, DeviceError
from paged import PagedWriter
from regular import RegularWriter
from stats import Stats

from tests.waiting import until
from tests.workers.paged_output.recorder import Recorder

ERRORS = pytest.mark.parametrize(
    "error", [DeviceError("out of paper"), SystemExit(3), KeyboardInterrupt()], ids=repr
)
DIES = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def counts(stats: Stats) -> tuple[int, int, int, int]:
    return stats.total, stats.sent, stats.dropped, stats.in_flight


@DIES
@ERRORS
def test_whatever_a_device_raises_is_counted_and_passed_on_or_kept(error: BaseException) -> None:
    regular = RegularWriter(Recorder(error))
    with pytest.raises(type(error)):
        regular.send(b"x")
    assert counts(regular.stats()) == (1, 0, 1, 0)
    writer = PagedWriter(Recorder(error), buffer=10, overflow="block")
    writer.send(b"x")
    until(lambda: writer.stats().dropped == 1)
    assert writer.error is error
    assert not any(writer.send(b"y") for _ in range(50)), "a dead device blocks nobody"
    writer.flush()
    assert counts(writer.stats()) == (51, 0, 51, 0)
    writer.close()


@pytest.mark.parametrize(
    ("answer", "said"), [(b"", "does not answer: timed out"), (b"?", r"answered b'\?'")]
)
def test_a_connection_whose_acknowledgement_is_late_or_wrong_is_not_used_again(
    answer: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device._ANSWERS_WITHIN_S", 0.05)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(tmp_path / "device"))
        listener.listen()
        writer = RegularWriter(Connection(listener.getsockname()))
        device, _ = listener.accept()
        with device:
            device.sendall(answer)
            with pytest.raises(DeviceError, match=said):
                writer.send(b"first")
            device.sendall(b"\x06")
            with pytest.raises(DeviceError, match=f"not used any more: the output device {said}"):
                writer.send(b"second")
    assert counts(writer.stats()) == (2, 0, 2, 0)
    writer.close()

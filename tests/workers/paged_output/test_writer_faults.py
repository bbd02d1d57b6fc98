"""Writers whose device fails in odd ways, or whose thread dies."""

import pytest
from device import DeviceError
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

"""Writing to a device one by one and in pages: order, counts, bounds and settings."""

import threading

import pytest
from device import DeviceError
from hypothesis import given, settings
from hypothesis import strategies as st
from paged import PagedWriter
from regular import RegularWriter
from settings import OVERFLOWS
from stats import Stats

from tests.waiting import until


class Recorder:
    """A device that keeps what it is given, and can be held up or made to fail."""

    def __init__(self, error: BaseException | None = None, fails_after: int = 0) -> None:
        self.pages: list[bytes] = []
        self.free = threading.Event()
        self.free.set()
        self.closed = False
        self._error = error
        self._fails_after = fails_after

    def write(self, data: bytes) -> None:
        self.free.wait(30)
        if self._error is not None and len(self.pages) >= self._fails_after:
            raise self._error
        self.pages.append(data)

    def close(self) -> None:
        self.closed = True


def held_up(*messages: bytes, **settings: object) -> tuple[Recorder, PagedWriter]:
    """A writer whose device is busy with the first message, while the others wait."""
    device = Recorder()
    device.free.clear()
    writer = PagedWriter(device, **settings)  # type: ignore[arg-type]
    writer.send(messages[0])
    until(lambda: writer.stats().in_flight == 1 and not writer._buffer.waiting)
    for message in messages[1:]:
        writer.send(message)
    return device, writer


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


MESSAGES = st.lists(st.binary(max_size=40), max_size=80)


@given(MESSAGES, st.integers(1, 64), st.integers(1, 100))
def test_pages_keep_order_and_size_and_nothing_is_lost(
    messages: list[bytes], page_size: int, buffer: int
) -> None:
    device = Recorder()
    writer = PagedWriter(device, page_size, buffer, "block")
    assert all(writer.send(message) for message in messages)
    writer.close()
    assert b"".join(device.pages) == b"".join(messages)
    largest = max(map(len, messages), default=0)
    # A message that is larger than a page goes alone.
    assert all(len(page) <= page_size or page in messages for page in device.pages)
    stats = writer.stats()
    assert stats.total == stats.sent == len(messages)
    assert stats.dropped == stats.in_flight == stats.bytes_held == 0
    assert stats.bytes_held_peak <= buffer * largest + max(page_size, largest)
    assert device.closed


PHASES = st.tuples(st.integers(1, 30), st.integers(0, 40), st.sampled_from(OVERFLOWS))


@settings(max_examples=60)
@given(st.lists(PHASES, min_size=1, max_size=6), st.integers(0, 20) | st.none(), st.integers(1, 3))
def test_whatever_happens_every_message_is_sent_or_counted_as_dropped(
    phases: list[tuple[int, int, str]], fails_after: int | None, producers: int
) -> None:
    error = None if fails_after is None else DeviceError("out of paper")
    device = Recorder(error, fails_after or 0)
    writer = PagedWriter(device, page_size=16, buffer=5)
    total = 0
    for buffer, count, overflow in phases:
        writer.configure(page_size=8 + buffer, buffer=buffer, overflow=overflow)

        def produce(count: int = count) -> None:
            for _ in range(count):
                writer.send(b"message;")

        threads = [threading.Thread(target=produce) for _ in range(producers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive(), "a producer waits for ever"
        total += count * producers
        stats = writer.stats()
        assert stats.total == total == stats.sent + stats.dropped + stats.in_flight
    writer.close()
    stats = writer.stats()
    assert stats.total == total == stats.sent + stats.dropped
    assert stats.in_flight == stats.bytes_held == 0
    assert b"".join(device.pages).count(b";") == stats.sent


@pytest.mark.parametrize(("overflow", "kept"), [("drop-newest", b"0123"), ("drop-oldest", b"6789")])
def test_a_full_buffer_sheds_by_its_rule(overflow: str, kept: bytes) -> None:
    device, writer = held_up(b"x", buffer=4, overflow=overflow)
    taken = [writer.send(b"%d" % number) for number in range(10)]
    assert taken == ([True] * 4 + [False] * 6 if overflow == "drop-newest" else [True] * 10)
    assert writer.stats().dropped == 6
    device.free.set()
    writer.close()
    assert b"".join(device.pages) == b"x" + kept

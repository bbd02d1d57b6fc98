"""Writing to a device one by one and in pages: order, counts, bounds, settings, failures."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paged import PagedWriter
from settings import OVERFLOWS, SettingError

from tests.waiting import until
from tests.workers.paged_output.recorder import Recorder, held_up


def adds_up(writer: PagedWriter) -> None:
    stats = writer.stats()
    assert stats.total == stats.sent + stats.dropped + stats.in_flight


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
    for page in device.pages:
        assert len(page) <= page_size or page in messages, (
            "a message that is larger than a page goes alone"
        )
    stats = writer.stats()
    assert stats.total == stats.sent == len(messages)
    assert stats.dropped == stats.in_flight == 0
    assert stats.bytes_held == 0
    assert stats.bytes_held_peak <= buffer * largest + max(page_size, largest)
    assert device.closed


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(1, 30), st.integers(0, 40), st.sampled_from(OVERFLOWS)),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 20) | st.none(),
    st.integers(1, 3),
)
def test_whatever_happens_every_message_is_sent_or_counted_as_dropped(
    phases: list[tuple[int, int, str]], fails_after: int | None, producers: int
) -> None:
    device = Recorder()
    device.fails_after = fails_after
    writer = PagedWriter(device, page_size=16, buffer=5)

    def produce(name: int, count: int) -> None:
        for number in range(count):
            writer.send(b"%d:%d;" % (name, number))

    total = 0
    for buffer, count, overflow in phases:
        writer.configure(page_size=8 + buffer, buffer=buffer, overflow=overflow)
        threads = [
            threading.Thread(target=produce, args=(name, count)) for name in range(producers)
        ]
        for thread in threads:
            thread.start()
        adds_up(writer)
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive(), "a producer waits for ever"
        total += count * producers
        adds_up(writer)
    writer.close()
    stats = writer.stats()
    assert stats.total == total == stats.sent + stats.dropped
    assert stats.in_flight == stats.bytes_held == 0
    arrived = b"".join(device.pages).count(b";")
    assert arrived == stats.sent


@pytest.mark.parametrize(("overflow", "kept"), [("drop-newest", b"0123"), ("drop-oldest", b"6789")])
def test_a_full_buffer_sheds_by_its_rule(overflow: str, kept: bytes) -> None:
    device = held_up()
    writer = PagedWriter(device, buffer=4, overflow=overflow)
    writer.send(b"x")
    until(lambda: not writer._buffer.waiting)
    taken = [writer.send(b"%d" % number) for number in range(10)]
    assert taken == ([True] * 4 + [False] * 6 if overflow == "drop-newest" else [True] * 10)
    assert writer.stats().dropped == 6
    device.free.set()
    writer.close()
    assert b"".join(device.pages) == b"x" + kept


def test_a_buffer_made_smaller_sheds_what_no_longer_fits() -> None:
    device = held_up()
    writer = PagedWriter(device, buffer=100)
    writer.send(b"x")
    until(lambda: not writer._buffer.waiting)
    for number in range(10):
        writer.send(b"%d" % number)
    writer.configure(buffer=3)
    stats = writer.stats()
    assert (stats.total, stats.dropped, stats.in_flight) == (11, 7, 4)
    device.free.set()
    writer.close()
    assert b"".join(device.pages) == b"x012"


BAD: dict[str, list[object]] = {
    "page_size": [0, "4096", 1.5, None, True, 1 << 60],
    "buffer": [0, "many", 1 << 60],
    "overflow": ["drop", None],
    "encoding": ["utf-7000", 8],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_settings_are_refused_by_name_before_anything_starts(name: str) -> None:
    threads = threading.active_count()
    for value in BAD[name]:
        with pytest.raises(SettingError, match=name):
            PagedWriter(Recorder(), **{name: value})  # type: ignore[arg-type]
    assert threading.active_count() == threads
    if name == "encoding":
        return
    writer = PagedWriter(Recorder())
    with pytest.raises(SettingError, match=name):
        writer.configure(**{name: BAD[name][0]})  # type: ignore[arg-type]
    assert writer.send(b"as before")
    writer.close()


def test_text_is_encoded_as_was_asked_for_and_nothing_is_taken_after_the_end() -> None:
    device = Recorder()
    writer = PagedWriter(device, encoding="latin-1")
    writer.send("é")
    with pytest.raises(UnicodeEncodeError):
        writer.send("✓")
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.send("late")
    assert device.pages == [b"\xe9"]
    assert writer.stats().total == 1, "neither what cannot be encoded nor what is late is a message"

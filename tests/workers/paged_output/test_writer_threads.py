"""A paged writer's thread: what flushing waits for, and what becomes of messages without one."""

import threading
from typing import Any

import pytest
from buffer import Buffer
from hypothesis import example, given, settings
from hypothesis import strategies as st
from paged import PagedWriter

from tests.waiting import until
from tests.workers.paged_output.recorder import Recorder, held_up


def test_flushing_waits_for_what_was_taken_before_and_for_nothing_else() -> None:
    device = Recorder()
    writer = PagedWriter(device, page_size=1, overflow="block")
    stop = threading.Event()

    def keep_it_busy() -> None:
        while not stop.is_set():
            writer.send(b".")

    # More than goes out meanwhile: the buffer is never empty.
    others = [threading.Thread(target=keep_it_busy) for _ in range(2)]
    for other in others:
        other.start()
    until(lambda: len(writer._buffer.waiting) > 100)
    writer.send(b"M")
    flusher = threading.Thread(target=writer.flush)
    flusher.start()
    flusher.join(20)
    try:
        assert not flusher.is_alive(), "what others send keeps it waiting"
        assert b"M" in device.pages
    finally:
        stop.set()
        for other in others:
            other.join()
        writer.close()


OPERATIONS = st.lists(
    st.sampled_from(
        ["append", "append", "take", "wait", "arrive", "lose", "oldest", "newest", "lose all"]
    ),
    max_size=60,
)


@settings(max_examples=300)
@example(["append", "wait", "newest", "append"], 1)
@example(["append", "append", "wait", "take", "oldest", "append"], 1)
@given(OPERATIONS, st.integers(1, 4))
def test_who_waits_waits_until_each_message_that_was_held_then_is_done_with(
    operations: list[str], most_bytes: int
) -> None:
    buffer = Buffer()
    held: list[int] = []
    under_way = number = 0
    waits: list[tuple[object, set[int]]] = []
    for operation in operations:
        if operation == "append":
            buffer.append(b"x")
            held.append(number)
            number += 1
        elif operation == "take" and buffer.waiting and not under_way:
            under_way = len(buffer.take(most_bytes, direct=False))
        elif operation in ("arrive", "lose"):
            buffer.settle(arrived=operation == "arrive")
            del held[:under_way]
            under_way = 0
        elif operation in ("oldest", "newest") and buffer.waiting:
            buffer.shed(oldest=operation == "oldest")
            del held[under_way if operation == "oldest" else -1]
        elif operation == "lose all":
            buffer.lose_all()
            held, under_way = [], 0
        elif operation == "wait":
            waits.append((object(), set(held)))
            buffer.wait_for_all(waits[-1][0])
        for who, awaited in waits:
            assert buffer.is_awaited(who) == bool(awaited & set(held))
        stats = buffer.stats()
        assert stats.total == number == stats.sent + stats.dropped + stats.in_flight
        assert stats.in_flight == stats.bytes_held == len(held)


def test_a_writer_that_was_not_started_writes_one_by_one_and_counts_it() -> None:
    device = Recorder()
    before = threading.active_count()
    writer = PagedWriter(device, buffer=1, starts=False)
    assert threading.active_count() == before
    assert all(writer.send(message) for message in ("a", "b", "c"))
    assert device.pages == [b"a", b"b", b"c"]
    assert writer.stats().direct == writer.stats().sent == 3
    writer.start()
    writer.start()
    assert threading.active_count() == before + 1
    writer.send("d")
    writer.close()
    assert b"".join(device.pages) == b"abcd"
    stats = writer.stats()
    assert (stats.sent, stats.direct) == (4, 3)
    with pytest.raises(ValueError, match="closed"):
        writer.start()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("overflow", ["block", "drop-oldest"])
def test_what_a_dead_thread_left_is_written_in_order_by_those_who_send(overflow: str) -> None:
    device = held_up()
    writer = PagedWriter(device, buffer=2, overflow=overflow, acknowledged=_die_once())
    writer.send(b"1")
    until(lambda: not writer._buffer.waiting)
    writer.send(b"2")
    writer.send(b"3")
    device.free.set()
    until(lambda: not writer._sending)
    assert device.pages == [b"1"]
    assert writer.send(b"4")
    writer.flush()
    assert device.pages == [b"1", b"2", b"3", b"4"]
    stats = writer.stats()
    assert (stats.total, stats.sent, stats.direct, stats.dropped) == (4, 4, 3, 0)
    writer.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_flushing_and_closing_write_what_a_dead_thread_left() -> None:
    for finish in ("flush", "close"):
        device = held_up()
        writer = PagedWriter(device, acknowledged=_die_once())
        writer.send(b"1")
        until(lambda writer=writer: not writer._buffer.waiting)  # type: ignore[misc]
        writer.send(b"2")
        flusher = threading.Thread(target=getattr(writer, finish))
        flusher.start()
        device.free.set()
        flusher.join(20)
        assert not flusher.is_alive()
        assert b"".join(device.pages) == b"12"


def _die_once() -> Any:
    deaths: list[bytes] = []

    def die(page: list[bytes]) -> None:
        if not deaths:
            deaths.extend(page)
            raise AssertionError("a thread that dies")

    return die

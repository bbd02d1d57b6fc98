"""HTTP answers in pieces, one after the other, and cut off."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from client import Connection
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.embedding.batched import looped

ANSWERS = (
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: x\r\n\r\nhello", ("200", b"hello")),
    (b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", ("503", b"")),
    (b"HTTP/1.1 200 OK\r\nCONTENT-LENGTH:4\r\n\r\n\r\n\r\n", ("200", b"\r\n\r\n")),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5\r\nhello\r\nA;name=value\r\n, \r\n world\r\n0\r\n\r\n",
        ("200", b"hello, \r\n world"),
    ),
    (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n0\r\nX-Sum: 1\r\n\r\n",
        ("200", b""),
    ),
    (b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", ("200", b"")),
)
"""The last is that of a service which will close the connection."""


class Wire(asyncio.Transport):
    """A connection to nobody, which keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        self.written.append(bytes(data))

    def close(self) -> None:
        self.closed = True


def connected() -> tuple[Connection, Wire]:
    connection, wire = Connection(), Wire()
    connection.connection_made(wire)
    return connection, wire


async def begin(connection: Connection, request: bytes) -> "asyncio.Task[tuple[str, bytes]]":
    """An exchange that has sent its request."""
    task = asyncio.create_task(connection.exchange(request))
    await asyncio.sleep(0)
    return task


@given(st.lists(st.integers(1, 60), max_size=5))
@looped
async def test_answers_are_put_together_from_whatever_pieces_they_come_in(cuts: list[int]) -> None:
    connection, wire = connected()
    for number, (data, expected) in enumerate(ANSWERS):
        assert connection.is_kept
        task = await begin(connection, b"request %d" % number)
        ends = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
        for start, end in pairwise(ends):
            assert not task.done()
            connection.data_received(data[start:end])
        assert await task == expected
    assert wire.written == [b"request %d" % number for number in range(len(ANSWERS))]
    assert not connection.is_kept


@pytest.mark.parametrize("error", [None, BrokenPipeError("gone")])
@looped
async def test_a_lost_connection_is_an_error_for_who_waits_and_for_who_comes_later(
    error: Exception | None,
) -> None:
    connection, _ = connected()
    task = await begin(connection, b"request")
    connection.data_received(ANSWERS[0][0][:20])
    connection.connection_lost(error)
    expected = type(error) if error else ConnectionResetError
    with pytest.raises(expected):
        await task
    with pytest.raises(expected):
        await connection.exchange(b"another")

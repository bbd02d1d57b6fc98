"""A load from a number of connections, each its next request when it has the answer."""

import asyncio
import json
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from itertools import count

from traffic import KINDS, Load, Questions

_END = b"\r\n"
_CHUNKED = b"transfer-encoding: chunked"
_LENGTH = b"content-length:"
_CLOSE = b"connection: close"


class Connection(asyncio.Protocol):
    """One request at a time over one kept connection.

    The least that HTTP/1.1 takes: the time of a client that computes would be measured too.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "made for TCP"
        self._transport = transport
        self._buffer = bytearray()
        self._begin()
        self._answer: asyncio.Future[tuple[str, bytes]] | None = None
        self._lost: Exception | None = None
        self.is_kept = True
        """Whether another request may be sent."""

    async def exchange(self, request: bytes) -> tuple[str, bytes]:
        """Sends a request; returns the answer's status and body. Raises ``ConnectionError``."""
        if self._lost is not None:
            raise self._lost
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._status and not self._read_head():
            return
        if self._is_chunked:
            self._read_chunks()
        elif self._needed is not None and len(self._buffer) >= self._needed:
            self._body = self._buffer[: self._needed]
            del self._buffer[: self._needed]
            self._give()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_kept = False
        self._lost = (
            error
            if isinstance(error, ConnectionError)
            else ConnectionResetError("closed by the service")
        )
        if self._status and self._needed is None and not self._is_chunked and error is None:
            # An answer that says no length ends with the connection.
            self._body = self._buffer
            self._give()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(self._lost)

    def close(self) -> None:
        self._transport.close()

    def _begin(self) -> None:
        self._status = ""
        self._needed: int | None = None
        self._is_chunked = False
        self._body = bytearray()

    def _read_head(self) -> bool:
        end = self._buffer.find(_END + _END)
        if end < 0:
            return False
        self._status = self._buffer[9:12].decode()
        if self._buffer.startswith(b"HTTP/1.0"):
            self.is_kept = False
        for line in bytes(self._buffer[:end]).lower().split(_END):
            if line.startswith(_LENGTH):
                self._needed = int(line[len(_LENGTH) :])
            elif line == _CHUNKED:
                self._is_chunked = True
            elif line == _CLOSE:
                self.is_kept = False
        del self._buffer[: end + 4]
        return True

    def _read_chunks(self) -> None:
        """Takes whole chunks from the buffer. The last is empty, and may have lines behind it."""
        while (end := self._buffer.find(_END)) >= 0:
            size = int(self._buffer[:end].partition(b";")[0], 16)
            behind = end + 2 + size + 2
            if size == 0:
                behind = self._buffer.find(_END + _END, end) + 4
                if behind < end + 4:
                    return
                del self._buffer[:behind]
                self._give()
                return
            if len(self._buffer) < behind:
                return
            self._body += self._buffer[end + 2 : behind - 2]
            del self._buffer[:behind]

    def _give(self) -> None:
        status, body = self._status, bytes(self._body)
        self._begin()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((status, body))


_CHECKED_SHARE = 50
"""One answer in so many is checked."""
OVERTIME_S = 30.0
"""Requests under way at the end are waited for so long, and count."""
_AFTER_NO_CONNECTION_S = 0.1
_AFTER_ERROR_S = 0.05


def put(url: str, questions: Questions, connections: int, duration_s: float) -> Load:
    """Puts a load on ``url``."""
    return asyncio.run(_put(url, questions, connections, duration_s))


async def _put(url: str, questions: Questions, connections: int, duration_s: float) -> Load:
    parts = urllib.parse.urlsplit(url)
    by_tls = parts.scheme == "https"
    path = f"{parts.path.rstrip('/')}/embed"
    requests = [_request(parts.netloc, path, texts) for texts in questions.texts]
    load = Load(duration_s)
    end = time.perf_counter() + duration_s

    async def client(number: int) -> None:
        """Connects again for as long as there is time, whatever becomes of a connection."""
        loop = asyncio.get_running_loop()
        # Clients begin with different kinds of requests.
        kinds = count(number)
        while time.perf_counter() < end:
            try:
                _, connection = await loop.create_connection(
                    Connection,
                    parts.hostname or "127.0.0.1",
                    parts.port or (443 if by_tls else 80),
                    ssl=by_tls or None,
                )
            except OSError as error:
                load.count_failure(type(error).__name__, str(error))
                await asyncio.sleep(_AFTER_NO_CONNECTION_S)
                continue
            try:
                await send_all(connection, kinds)
            except (ConnectionError, asyncio.TimeoutError) as error:
                load.count_failure(type(error).__name__, str(error))
            finally:
                connection.close()

    async def send_all(connection: Connection, kinds: Iterator[int]) -> None:
        """Sends one request after the other, for as long as the service keeps the connection."""
        while connection.is_kept and time.perf_counter() < end:
            kind = next(kinds) % KINDS
            sent = time.perf_counter()
            status, content = await connection.exchange(requests[kind])
            if status != "200":
                load.count_failure(status, content.decode(errors="replace"))
                await asyncio.sleep(_AFTER_ERROR_S)
                continue
            now = time.perf_counter()
            load.count_answer(now - sent, len(content), is_late=now > end)
            if load.answered % _CHECKED_SHARE == 0:
                load.checked += 1
                load.wrong += not questions.is_answered_by(content, kind)

    clients = [asyncio.create_task(client(number)) for number in range(connections)]
    done, late = await asyncio.wait(clients, timeout=duration_s + OVERTIME_S)
    for task in late:
        task.cancel()
        load.count_failure("never answered", "")
    for task in done:
        task.result()
    load.drain_s = max(0.0, time.perf_counter() - end)
    return load


def _request(host: str, path: str, texts: Sequence[str]) -> bytes:
    body = json.dumps({"inputs": list(texts)})
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode()

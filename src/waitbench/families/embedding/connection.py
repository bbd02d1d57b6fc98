"""HTTP/1.1 as a client that puts a load on a service needs it, and no more."""

import asyncio


class Connection(asyncio.Protocol):
    """One request at a time over one kept connection.

    The least that HTTP/1.1 takes: the time of a client that computes would be measured too.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "made for TCP"
        self._transport = transport
        self._buffer = bytearray()
        self._body_begins = self._needed = 0
        self._answer: asyncio.Future[tuple[str, bytes]] | None = None
        self._lost: Exception | None = None

    async def exchange(self, request: bytes) -> tuple[str, bytes]:
        """Sends a request; returns the answer's status and body. Raises ``ConnectionError``."""
        if self._lost is not None:
            raise self._lost
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._needed:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self._body_begins = end + 4
            for line in bytes(self._buffer[:end]).lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    self._needed = self._body_begins + int(line[15:])
        if self._needed and len(self._buffer) >= self._needed and self._answer is not None:
            status = self._buffer[9:12].decode()
            body = bytes(self._buffer[self._body_begins : self._needed])
            del self._buffer[: self._needed]
            self._needed = 0
            if not self._answer.done():
                self._answer.set_result((status, body))

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = (
            error
            if isinstance(error, ConnectionError)
            else ConnectionResetError("closed by the service")
        )
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(self._lost)

    def close(self) -> None:
        self._transport.close()

"""HTTP/1.1 as a client that puts a load on a service needs it, and no more."""

import asyncio

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

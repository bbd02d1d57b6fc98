"""Clients that may be slow, go away, or send too much."""

import asyncio
from typing import Any

from fastapi import Request
from wire import MAX_BODY_BYTES, ErrorType, ServiceError

_MAX_UNFINISHED_BYTES = 32 * MAX_BODY_BYTES
"""In all bodies that are still being sent."""
_QUICK_S = 0.25
"""Most are answered sooner, and are not worth a task that watches their clients."""


class ClientGone(Exception):
    """Nobody is there any more to be answered."""


class Reader:
    """Reads bodies, and holds no more of them than it may."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.unfinished_bytes = 0

    def serving(self, request: Request) -> "Client":
        """A context in which a request is read and answered."""
        return Client(self, request)


class Client:
    """A request's context: what is awaited in it ends when its client goes away, or is too slow.

    Then it raises ``ClientGone``, or ``ServiceError``.
    """

    def __init__(self, reader: Reader, request: Request) -> None:
        self._reader = reader
        self._request = request
        self._has_sent_all = self._over = False
        self._reason: Exception | None = None
        self._watcher: asyncio.Task[None] | None = None

    def __enter__(self) -> "Client":
        self._loop = asyncio.get_running_loop()
        self._task: Any = asyncio.current_task(self._loop)
        self._begun = self._loop.time()
        self._timer = self._loop.call_later(_QUICK_S, self._look)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over = True
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        if kind is asyncio.CancelledError and self._reason is not None:
            if hasattr(self._task, "uncancel"):  # Python >= 3.11
                self._task.uncancel()
            raise self._reason from None

    async def read(self) -> bytes:
        """The body.

        Raises ``ServiceError`` for one that is not JSON by its own word, or too large.
        """
        kind = self._request.headers.get("content-type", "")
        if kind.split(";")[0].strip().lower() not in ("application/json", ""):
            raise ServiceError(
                f"Content-Type {kind!r} is not application/json", ErrorType.VALIDATION, 415
            )
        declared = self._request.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
            raise _too_large()
        message = await self._receive()
        body: bytes = message["body"]
        if message["more_body"]:
            body = await self._gather(body)
        self._has_sent_all = True
        return body

    async def _gather(self, begun: bytes) -> bytes:
        """The body of a request, of which this is the beginning."""
        reader = self._reader
        body = bytearray(begun)
        reader.unfinished_bytes += len(begun)
        try:
            more = True
            while more:
                if len(body) > MAX_BODY_BYTES:
                    raise _too_large()
                if reader.unfinished_bytes > _MAX_UNFINISHED_BYTES:
                    raise ServiceError(
                        "too much is being sent at once",
                        ErrorType.OVERLOADED,
                        headers={"Retry-After": "1"},
                    )
                message = await self._receive()
                body += message["body"]
                reader.unfinished_bytes += len(message["body"])
                more = message["more_body"]
        finally:
            reader.unfinished_bytes -= len(body)
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
        return bytes(body)

    async def _receive(self) -> Any:
        message = await self._request.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        return message

    def _look(self) -> None:
        """Watches a client who has sent all; refuses one whose time is over."""
        if self._has_sent_all:
            self._watcher = self._loop.create_task(self._watch())
        elif self._loop.time() < self._begun + self._reader.timeout_s:
            self._timer = self._loop.call_later(_QUICK_S, self._look)
        else:
            message = f"the body did not come within {self._reader.timeout_s:g} s"
            # Whatever may come of it still, nobody reads it.
            close = {"Connection": "close"}
            self._interrupt(ServiceError(message, ErrorType.VALIDATION, 408, close))

    async def _watch(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._interrupt(ClientGone())

    def _interrupt(self, why: Exception) -> None:
        if not self._over and self._reason is None:
            self._reason = why
            self._task.cancel()


def _too_large() -> ServiceError:
    return ServiceError(f"the body is larger than {MAX_BODY_BYTES:,} bytes", ErrorType.VALIDATION)

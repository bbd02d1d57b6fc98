"""Requests to a service over kept connections, and what can come of them."""

import asyncio
import time
from dataclasses import dataclass

import aiohttp
from wire import ErrorType, ServiceError
from yarl import URL

_CONNECTS_WITHIN_S = 5.0
_LOST = (
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientOSError,
    aiohttp.ClientConnectionResetError,
    aiohttp.ClientPayloadError,
)
"""There was a connection, and it has gone; perhaps just because it had been kept for so long."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a service answered."""

    status: int
    content: bytes
    retry_after: str | None


class Exchange:
    """The connections to a service."""

    def __init__(self, key: str, timeout_s: float) -> None:
        """``key``: sent as a bearer token, if it is not empty."""
        self._timeout_s = timeout_s
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._kept = _session(headers, force_close=False)
        self._fresh = _session(headers, force_close=True)

    async def close(self) -> None:
        await self._kept.close()
        await self._fresh.close()

    async def send(self, method: str, url: URL, body: bytes | None, most_bytes: int) -> Answer:
        """The answer to a request that changes nothing at the service.

        So where the connection is lost, it is sent once more, on a fresh one. Raises
        ``ServiceError``, also where the answer is longer than ``most_bytes``.
        """
        end = time.monotonic() + self._timeout_s
        try:
            try:
                return await self._send(self._kept, method, url, body, most_bytes, end)
            except aiohttp.ClientConnectorError:
                raise
            except _LOST:
                return await self._send(self._fresh, method, url, body, most_bytes, end)
        except aiohttp.ConnectionTimeoutError:
            raise _unhealthy(f"took no connection within {_CONNECTS_WITHIN_S:g} s") from None
        except asyncio.TimeoutError:
            raise _unhealthy(f"did not answer within {self._timeout_s:g} s") from None
        except aiohttp.ClientResponseError as error:
            raise ServiceError(
                f"the upstream's answer is not HTTP: {error.message}", ErrorType.BACKEND
            ) from None
        except aiohttp.ClientConnectorError as error:
            raise _unhealthy(f"cannot be reached: {error}") from None
        except aiohttp.ClientError as error:
            raise _unhealthy(f"closed the connection: {error or type(error).__name__}") from None

    async def _send(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: URL,
        body: bytes | None,
        most_bytes: int,
        end: float,
    ) -> Answer:
        left_s = max(0.001, end - time.monotonic())
        timeout = aiohttp.ClientTimeout(total=left_s, connect=min(_CONNECTS_WITHIN_S, left_s))
        async with session.request(method, url, data=body, timeout=timeout) as response:
            return Answer(
                status=response.status,
                content=await _read(response, most_bytes),
                retry_after=response.headers.get("Retry-After"),
            )


def _session(headers: dict[str, str], *, force_close: bool) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        # How many there are at once is not decided here.
        connector=aiohttp.TCPConnector(limit=0, force_close=force_close),
        headers=headers,
        # What the upstream sets for one client is nothing to another.
        cookie_jar=aiohttp.DummyCookieJar(),
    )


async def _read(response: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    content = bytearray()
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > most_bytes:
            # The error's traceback would keep it.
            content.clear()
            raise ServiceError(
                f"the upstream's answer is longer than {most_bytes:,} bytes", ErrorType.BACKEND
            )
    return bytes(content)


def _unhealthy(what: str) -> ServiceError:
    return ServiceError(f"the upstream {what}", ErrorType.UNHEALTHY)

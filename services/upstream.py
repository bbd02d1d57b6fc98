"""The service behind the proxy, as the proxy asks it: limits, calls, and what it does wrong."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import aiohttp
import orjson
from yarl import URL

from services import wire
from services.batching import Guilty
from services.wire import ErrorType, ServiceError

log = logging.getLogger("proxy")

_DEFAULT_LIMIT = 32
"""text-embeddings-inference's own default."""


class Refused(Guilty):
    """The upstream refused the texts: message, kind, status."""


class Upstream:
    """An embedding service, and the connections to it."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        limit: int,
        most_calls: int,
        timeout_s: float,
        observe_s: Callable[[float], None],
    ) -> None:
        """``limit``: inputs in a call, 0 for what the service says.

        ``most_calls``: calls at once, 0 for any number. ``observe_s`` is told how long each took.
        """
        url = url.rstrip("/")
        self._embed_url, self._info_url = URL(url + wire.EMBED_PATH), URL(f"{url}/info")
        self._headers = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {key}"} if key else {}),
        }
        self._limit = limit
        self._timeout_s = timeout_s
        self._observe_s = observe_s
        # The connector's limit is not strictly first come, first served: a batch that is ready just
        # as a connection is free takes it. docs/embedding.md says what that does.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=most_calls),
            timeout=aiohttp.ClientTimeout(total=timeout_s),
            # What the upstream sets for one client is nothing to another.
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def prepare(self) -> None:
        """Asks the upstream for its limit, which also opens a connection.

        Where the upstream is not there yet, it is asked later.
        """
        try:
            await self._fetch_limit()
        except ServiceError as error:
            log.warning("%s", error)

    async def close(self) -> None:
        await self._session.close()

    async def embed(self, texts: list[str], truncate: bool, normalize: bool) -> Sequence[Any]:
        """The vectors of texts, from as many calls as the upstream's limit takes.

        Raises ``ServiceError``, and ``Refused`` for the texts themselves.
        """
        limit = self._limit or await self._fetch_limit()
        parts = [texts[start : start + limit] for start in range(0, len(texts), limit)]
        if len(parts) == 1:
            return await self._call(texts, truncate, normalize)
        joined: list[Any] = []
        for vectors in await asyncio.gather(
            *(self._call(part, truncate, normalize) for part in parts)
        ):
            joined += vectors
        return joined

    async def _call(self, texts: list[str], truncate: bool, normalize: bool) -> list[Any]:
        body = orjson.dumps({"inputs": texts, "truncate": truncate, "normalize": normalize})
        begun = time.monotonic()
        status, content = await self._exchange("POST", self._embed_url, body)
        self._observe_s(time.monotonic() - begun)
        if status != 200:
            raise _error_of(status, content)
        try:
            vectors = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise ServiceError(
                f"the upstream's answer is not JSON: {error}", ErrorType.BACKEND
            ) from None
        if not _are_vectors(vectors, len(texts)):
            count = len(vectors) if isinstance(vectors, list) else type(vectors).__name__
            raise ServiceError(
                f"the upstream answered {count} vectors for {len(texts)} inputs, or no vectors",
                ErrorType.BACKEND,
            )
        return vectors  # type: ignore[no-any-return]

    async def _fetch_limit(self) -> int:
        """The upstream's limit of inputs in a call, asked once."""
        status, content = await self._exchange("GET", self._info_url, None)
        try:
            self._limit = (
                int(orjson.loads(content)["max_client_batch_size"]) if status == 200 else 0
            )
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            self._limit = 0
        if self._limit < 1:
            self._limit = _DEFAULT_LIMIT
            log.warning("the upstream says no max_client_batch_size; taking %d", self._limit)
        return self._limit

    async def _exchange(self, method: str, url: URL, body: bytes | None) -> tuple[int, bytes]:
        try:
            async with self._session.request(
                method, url, data=body, headers=self._headers
            ) as response:
                return response.status, await response.read()
        except asyncio.TimeoutError:
            raise ServiceError(
                f"the upstream did not answer within {self._timeout_s:g} s", ErrorType.UNHEALTHY
            ) from None
        except aiohttp.ClientError as error:
            raise ServiceError(
                f"the upstream cannot be reached: {error}", ErrorType.UNHEALTHY
            ) from None


def _error_of(status: int, content: bytes) -> Exception:
    """The upstream's error as ours, in its own words where it has any."""
    try:
        said = orjson.loads(content)
        message, kind = str(said["error"]), ErrorType(said["error_type"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return ServiceError(f"the upstream answered with status {status}", ErrorType.BACKEND)
    if kind in (ErrorType.VALIDATION, ErrorType.TOKENIZER, ErrorType.EMPTY):
        return Refused(message, kind, status)
    return ServiceError(message, kind)


def _are_vectors(vectors: Any, count: int) -> bool:
    return (
        isinstance(vectors, list)
        and len(vectors) == count
        and all(
            isinstance(vector, list) and vector and set(map(type, vector)) <= {float, int}
            for vector in vectors
        )
    )

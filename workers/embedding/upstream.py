"""The service behind the proxy, as the proxy asks it: limits, calls, and what it does wrong."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import wire
from batching import Board, Guilty
from exchange import Answer, Exchange
from limit import Limit
from turns import Busy, Turns
from wire import ErrorType, ServiceError, Text
from yarl import URL

_MAX_ANSWER_BYTES, _MAX_VECTOR_BYTES = 100_000, 200_000
"""An answer may have so many, and so many more for each input."""
_FAULTS_OF_THE_REQUEST = {400: ErrorType.EMPTY, 413: ErrorType.VALIDATION, 422: ErrorType.TOKENIZER}
_NOT_NOW = {429: ErrorType.OVERLOADED, **dict.fromkeys((502, 503, 504), ErrorType.UNHEALTHY)}
_SHOWN_CHARACTERS = 300


class Refused(Guilty):
    """The upstream refused the texts: message, kind, status."""


class Upstream:
    """An embedding service, and whose turn it is to ask it."""

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
        self._exchange = Exchange(key, timeout_s)
        self._limit = Limit(limit, self._ask_limit)
        self._turns = Turns(most_calls)
        self._timeout_s = timeout_s
        self._observe_s = observe_s

    def prepare(self) -> None:
        """Begins to ask the upstream for its limit, which also opens a connection."""
        self._limit.ask()

    async def close(self) -> None:
        self._limit.close()
        await self._exchange.close()

    async def embed(self, board: Board, options: bytes) -> Sequence[Any]:
        """The vectors of the texts that are there when their turn has come.

        In as many calls as the upstream's limit takes. Raises ``ServiceError``, and ``Refused`` for
        the texts themselves.
        """
        limit = await self._limit.known()
        await self._take_turn()
        texts = board()
        if len(texts) <= limit:
            return await self._call(texts, options)
        parts = [texts[start : start + limit] for start in range(0, len(texts), limit)]
        joined: list[Any] = []
        for vectors in await asyncio.gather(
            self._call(parts[0], options),
            *(self._call_in_turn(part, options) for part in parts[1:]),
        ):
            joined += vectors
        return joined

    async def _take_turn(self) -> None:
        try:
            await self._turns.take(self._timeout_s)
        except Busy:
            raise ServiceError(
                f"the upstream was busy with other calls for {self._timeout_s:g} s",
                ErrorType.OVERLOADED,
                headers={"Retry-After": "1"},
            ) from None

    async def _call_in_turn(self, texts: list[Text], options: bytes) -> list[Any]:
        await self._take_turn()
        return await self._call(texts, options)

    async def _call(self, texts: list[Text], options: bytes) -> list[Any]:
        """Asks for the vectors of texts, and gives the turn back."""
        try:
            if not texts:
                return []
            begun = time.monotonic()
            answer = await self._exchange.send(
                "POST",
                self._embed_url,
                wire.request_body(texts, options),
                _MAX_ANSWER_BYTES + len(texts) * _MAX_VECTOR_BYTES,
            )
            self._observe_s(time.monotonic() - begun)
        finally:
            self._turns.give_back()
        if answer.status != 200:
            raise _error_of(answer)
        try:
            vectors = orjson.loads(answer.content)
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

    async def _ask_limit(self) -> object:
        """What the upstream says is its limit. Raises ``ServiceError`` or ``ValueError``."""
        answer = await self._exchange.send("GET", self._info_url, None, _MAX_ANSWER_BYTES)
        said = orjson.loads(answer.content) if answer.status == 200 else None
        return said.get("max_client_batch_size") if isinstance(said, dict) else None


def _error_of(answer: Answer) -> Exception:
    """The upstream's error as ours, in its own words where it has any."""
    status, headers = answer.status, None
    if answer.retry_after is not None:
        headers = {"Retry-After": answer.retry_after}
    try:
        said = orjson.loads(answer.content)
        message, kind = str(said["error"]), ErrorType(said["error_type"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        message = f"the upstream answered with status {status}"
        if status not in _FAULTS_OF_THE_REQUEST:
            return ServiceError(message, _NOT_NOW.get(status, ErrorType.BACKEND), headers=headers)
        # What has no error of the service's shape comes from the web framework before it.
        kind = _FAULTS_OF_THE_REQUEST[status]
        message += f": {answer.content.decode(errors='replace')[:_SHOWN_CHARACTERS]}"
    if kind in _FAULTS_OF_THE_REQUEST.values():
        return Refused(message, kind, status)
    return ServiceError(message, kind, headers=headers)


def _are_vectors(vectors: Any, count: int) -> bool:
    return (
        isinstance(vectors, list)
        and len(vectors) == count
        and all(
            isinstance(vector, list) and vector and set(map(type, vector)) <= {float, int}
            for vector in vectors
        )
    )

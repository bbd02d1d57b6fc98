"""A proxy that looks to each client like the embedding service itself, and gathers requests into upstream calls.

python -m services.proxy               # settings: environment or .env, see .env.example
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
from fastapi import FastAPI, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict
from yarl import URL

from services import wire
from services.batching import Batcher, Full, Guilty, Mode, Rule, Seen
from services.wire import ErrorType, ServiceError

log = logging.getLogger("proxy")


class ProxySettings(BaseSettings):
    """From the environment, or ``.env``."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore")

    max_batch_size: int = Field(8, ge=1, description="Requests in a batch.")
    max_wait_time: int = Field(1000, ge=0, description="Milliseconds that the first request of a batch waits at most.")
    inference_service_url: str = "http://127.0.0.1:8080"
    inference_service_key: str = ""
    ip: str = "127.0.0.1"
    port: int = Field(8081, ge=0, le=65535)
    log_level: str = "error"
    mode: Mode = Mode.ADAPTIVE
    max_queue: int = Field(1000, ge=1, description="Requests waiting and under way; beyond, clients are told to come back.")
    upstream_batch_limit: int = Field(0, ge=0, description="Inputs in an upstream call; 0: what the upstream says.")
    max_upstream_calls: int = Field(
        2,
        ge=0,
        description="Upstream calls at once: one that is served and one that is ready; 0: as many as batches leave.",
    )
    upstream_timeout: float = Field(30.0, gt=0, description="Seconds.")


class Metrics:
    """What ``/metrics`` shows."""

    def __init__(self, proxy: "Proxy") -> None:
        self.registry = CollectorRegistry()
        sizes = (1, 2, 4, 8, 16, 32, 64, 128)
        self.batch_requests = Histogram(
            "proxy_batch_requests", "Requests in a batch", registry=self.registry, buckets=sizes
        )
        self.batch_inputs = Histogram("proxy_batch_inputs", "Inputs in a batch", registry=self.registry, buckets=sizes)
        self.waits = Histogram("proxy_wait_seconds", "From request to batch", registry=self.registry)
        self.upstream = Histogram(
            "proxy_upstream_seconds", "Time of an upstream call, with the wait for a connection", registry=self.registry
        )
        self.answers = Counter("proxy_answers", "Answers by status", ["status"], registry=self.registry)
        queue = Gauge("proxy_queue_length", "Requests that wait for a batch", registry=self.registry)
        queue.set_function(lambda: sum(batcher.waiting for batcher in proxy.batchers.values()))

    def batch_left(self, seen: Seen) -> None:
        self.batch_requests.observe(seen.requests)
        self.batch_inputs.observe(seen.inputs)
        for waited_s in seen.waited_s:
            self.waits.observe(waited_s)


class Proxy:
    """One batcher for each combination of options: what shares a call must want the same."""

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self._rule = Rule(settings.mode, settings.max_batch_size, settings.max_wait_time / 1000, settings.max_queue)
        self._limit = settings.upstream_batch_limit
        url = settings.inference_service_url.rstrip("/")
        self._embed_url, self._info_url = URL(url + wire.EMBED_PATH), URL(f"{url}/info")
        key = settings.inference_service_key
        self._headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        self.batchers: dict[tuple[bool, bool], Batcher] = {}
        self.metrics = Metrics(self)
        # The connector's limit is not strictly first come, first served: a batch that is ready just as a connection is free
        # takes it. docs/embedding.md says what that does.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=settings.max_upstream_calls),
            timeout=aiohttp.ClientTimeout(total=settings.upstream_timeout),
            # What the upstream sets for one client is nothing to another.
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def embed(self, asked: wire.EmbedRequest) -> Sequence[Any]:
        """The vectors of one client's request. Raises ``ServiceError``."""
        options = bool(asked.truncate), asked.normalize
        batcher = self.batchers.get(options)
        if batcher is None:
            batcher = self.batchers[options] = Batcher(
                self._rule, lambda texts: self._split(texts, *options), self.metrics.batch_left
            )
        try:
            return await batcher.submit(asked.texts)
        except Full:
            raise ServiceError("Model is overloaded", ErrorType.OVERLOADED, headers={"Retry-After": "1"}) from None
        except _Refused as refused:
            raise ServiceError(*refused.args) from None

    async def prepare(self) -> None:
        """Asks the upstream for its limit, which also opens a connection; later, if it is not there yet."""
        try:
            await self._ask_limit()
        except ServiceError as error:
            log.warning("%s", error)

    async def close(self) -> None:
        await asyncio.gather(*(batcher.drain() for batcher in self.batchers.values()))
        await self._session.close()

    async def _split(self, texts: list[str], truncate: bool, normalize: bool) -> Sequence[Any]:
        """Asks in as many calls as the upstream's limit takes, side by side, and joins the answers."""
        limit = self._limit or await self._ask_limit()
        parts = [texts[start : start + limit] for start in range(0, len(texts), limit)]
        if len(parts) == 1:
            return await self._call(texts, truncate, normalize)
        joined: list[Any] = []
        for vectors in await asyncio.gather(*(self._call(part, truncate, normalize) for part in parts)):
            joined += vectors
        return joined

    async def _call(self, texts: list[str], truncate: bool, normalize: bool) -> list[Any]:
        body = orjson.dumps({"inputs": texts, "truncate": truncate, "normalize": normalize})
        begun = time.monotonic()
        status, content = await self._exchange("POST", self._embed_url, body)
        self.metrics.upstream.observe(time.monotonic() - begun)
        if status != 200:
            raise _error_of(status, content)
        try:
            vectors = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise ServiceError(f"the upstream's answer is no JSON: {error}", ErrorType.BACKEND) from None
        if not _are_vectors(vectors, len(texts)):
            count = len(vectors) if isinstance(vectors, list) else type(vectors).__name__
            raise ServiceError(
                f"the upstream answered {count} vectors for {len(texts)} inputs, or no vectors", ErrorType.BACKEND
            )
        return vectors  # type: ignore[no-any-return]

    async def _ask_limit(self) -> int:
        """The upstream's limit of inputs in a call, asked once."""
        status, content = await self._exchange("GET", self._info_url, None)
        try:
            self._limit = int(orjson.loads(content)["max_client_batch_size"]) if status == 200 else 0
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            self._limit = 0
        if self._limit < 1:
            self._limit = 32  # text-embeddings-inference's own default
            log.warning("the upstream says no max_client_batch_size; taking %d", self._limit)
        return self._limit

    async def _exchange(self, method: str, url: URL, body: bytes | None) -> tuple[int, bytes]:
        try:
            async with self._session.request(method, url, data=body, headers=self._headers) as response:
                return response.status, await response.read()
        except asyncio.TimeoutError:
            seconds = self._settings.upstream_timeout
            raise ServiceError(f"the upstream did not answer within {seconds:g} s", ErrorType.UNHEALTHY) from None
        except aiohttp.ClientError as error:
            raise ServiceError(f"the upstream cannot be reached: {error}", ErrorType.UNHEALTHY) from None


class _Refused(Guilty):
    """The upstream refused the texts: message, kind, status."""


def _error_of(status: int, content: bytes) -> Exception:
    """The upstream's error as ours, in its own words where it has any."""
    try:
        said = orjson.loads(content)
        message, kind = str(said["error"]), ErrorType(said["error_type"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return ServiceError(f"the upstream answered with status {status}", ErrorType.BACKEND)
    if kind in (ErrorType.VALIDATION, ErrorType.TOKENIZER, ErrorType.EMPTY):
        return _Refused(message, kind, status)
    return ServiceError(message, kind)


def _are_vectors(vectors: Any, count: int) -> bool:
    return (
        isinstance(vectors, list)
        and len(vectors) == count
        and all(isinstance(vector, list) and vector and set(map(type, vector)) <= {float, int} for vector in vectors)
    )


def create_app(settings: ProxySettings) -> FastAPI:
    """The proxy as an ASGI application."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.proxy = Proxy(settings)
        await app.state.proxy.prepare()
        yield
        await app.state.proxy.close()

    app = wire.create("Auto-batching proxy", lifespan)

    async def embed(request: Request) -> Response:
        proxy: Proxy = app.state.proxy
        try:
            response = wire.answer(await proxy.embed(await wire.read(request)))
        except ServiceError as error:
            proxy.metrics.answers.labels(str(error.status)).inc()
            raise
        proxy.metrics.answers.labels("200").inc()
        return response

    wire.add_embed(app, embed)

    @app.get("/health", summary="200 while the proxy serves")
    async def health() -> None:
        return None

    @app.get("/metrics", summary="For Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(generate_latest(app.state.proxy.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return app


def main() -> None:
    settings = ProxySettings()
    logging.basicConfig(level=settings.log_level.upper())
    wire.serve(create_app(settings), settings.ip, settings.port, settings.log_level)


if __name__ == "__main__":
    main()

"""A proxy that looks to clients like the embedding service itself, and batches their requests.

python proxy.py               # settings: environment or .env, see .env.example
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import web
import wire
from batching import Batcher, Full, Seen
from fastapi import FastAPI, Request
from fastapi.responses import Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from pydantic import Field
from reading import ClientGone, Reader
from rule import Mode, Rule
from upstream import Refused, Upstream
from wire import ErrorType, ServiceError


class ProxySettings(web.ServerSettings):
    """From the environment, or ``.env``."""

    max_batch_size: int = Field(default=8, ge=1, description="Requests in a batch.")
    max_wait_time: int = Field(
        default=1000,
        ge=0,
        description="Milliseconds that the first request of a batch waits at most.",
    )
    inference_service_url: str = "http://127.0.0.1:8080"
    inference_service_key: str = ""
    port: int = Field(default=8081, ge=0, le=65535)
    mode: Mode = Mode.ADAPTIVE
    max_queue: int = Field(
        default=1000,
        ge=1,
        description="Requests waiting and under way; beyond, clients are told to come back.",
    )
    upstream_batch_limit: int = Field(
        default=0, ge=0, description="Inputs in an upstream call; 0: what the upstream says."
    )
    max_upstream_calls: int = Field(
        default=2,
        ge=0,
        description="Upstream calls at once: one that is served and one that is ready; "
        "0: as many as batches leave.",
    )
    upstream_timeout: float = Field(
        default=30.0,
        gt=0,
        description="Seconds that a batch may wait for its turn, and then for its answer.",
    )


class Metrics:
    """What ``/metrics`` shows."""

    def __init__(self, proxy: "Proxy") -> None:
        self.registry = CollectorRegistry()
        sizes = (1, 2, 4, 8, 16, 32, 64, 128)
        self.batch_requests = Histogram(
            "proxy_batch_requests", "Requests in a batch", registry=self.registry, buckets=sizes
        )
        self.batch_inputs = Histogram(
            "proxy_batch_inputs", "Inputs in a batch", registry=self.registry, buckets=sizes
        )
        self.waits = Histogram(
            "proxy_wait_seconds", "From request to batch", registry=self.registry
        )
        self.upstream = Histogram(
            "proxy_upstream_seconds",
            "Time of an upstream call",
            registry=self.registry,
        )
        self.answers = Counter(
            "proxy_answers", "Answers by status", ["status"], registry=self.registry
        )
        queue = Gauge(
            "proxy_queue_length", "Requests that wait for a batch", registry=self.registry
        )
        queue.set_function(lambda: proxy.batcher.waiting)

    def batch_left(self, seen: Seen) -> None:
        self.batch_requests.observe(seen.requests)
        self.batch_inputs.observe(seen.inputs)
        for waited_s in seen.waited_s:
            self.waits.observe(waited_s)


class Proxy:
    """Requests of clients, on their way to the upstream in batches."""

    def __init__(self, settings: ProxySettings) -> None:
        self.metrics = Metrics(self)
        self._upstream = Upstream(
            settings.inference_service_url,
            key=settings.inference_service_key,
            limit=settings.upstream_batch_limit,
            most_calls=settings.max_upstream_calls,
            timeout_s=settings.upstream_timeout,
            observe_s=self.metrics.upstream.observe,
        )
        rule = Rule(
            settings.mode,
            settings.max_batch_size,
            settings.max_wait_time / 1000,
            settings.max_queue,
            wire.MAX_BODY_BYTES,
        )
        self.batcher = Batcher(rule, self._upstream.embed, self.metrics.batch_left)

    async def embed(self, body: bytes) -> Sequence[Any]:
        """The vectors of one client's request. Raises ``ServiceError``."""
        asked, size_bytes = wire.parse(body), len(body)
        del body  # It may be large, and its texts are copies.
        try:
            return await self.batcher.submit(
                asked.texts, options=asked.options, size_bytes=size_bytes
            )
        except Full:
            raise ServiceError(
                "Model is overloaded", ErrorType.OVERLOADED, headers={"Retry-After": "1"}
            ) from None
        except Refused as refused:
            raise ServiceError(*refused.args) from None

    def prepare(self) -> None:
        """Begins to get to know the upstream."""
        self._upstream.prepare()

    async def close(self) -> None:
        """Answers what has been accepted."""
        await self.batcher.drain()
        await self._upstream.close()


def create_app(settings: ProxySettings) -> FastAPI:
    """The proxy as an ASGI application."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.proxy = Proxy(settings)
        app.state.proxy.prepare()
        yield
        await app.state.proxy.close()

    app = web.create("Auto-batching proxy", lifespan)
    reader = Reader(settings.read_timeout)

    async def embed(request: Request) -> Response:
        proxy: Proxy = app.state.proxy
        status = "500"
        try:
            with reader.serving(request) as client:
                response = wire.answer(await proxy.embed(await client.read()))
            status = "200"
        except ServiceError as error:
            status = str(error.status)
            raise
        except ClientGone:
            status = "gone"
            raise
        finally:
            proxy.metrics.answers.labels(status).inc()
        return response

    web.add_embed(app, embed)

    async def health() -> None:
        """Says by answering at all that the service is up."""

    async def metrics() -> Response:
        return Response(
            generate_latest(app.state.proxy.metrics.registry), media_type=CONTENT_TYPE_LATEST
        )

    app.add_api_route("/health", health, summary="200 while the proxy serves")
    app.add_api_route("/metrics", metrics, summary="For Prometheus", response_class=Response)
    return app


def main() -> None:
    settings = web.load_settings(ProxySettings)
    # logging itself has no TRACE.
    logging.basicConfig(level=settings.log_level.upper().replace("TRACE", "DEBUG"))
    app = create_app(settings)

    def hurry() -> None:
        app.state.proxy.batcher.hurry()

    web.serve(app, settings, hurry)


if __name__ == "__main__":
    main()

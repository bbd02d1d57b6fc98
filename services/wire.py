"""What travels: requests, answers and errors in the shapes of text-embeddings-inference.

And how OpenAPI describes them.
"""

import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

import orjson
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException

EMBED_PATH = "/embed"
MAX_BODY_BYTES = 2_000_000
"""text-embeddings-inference's default ``--payload-limit``."""

Handler = Callable[[Request], Awaitable[Response]]


class EmbedRequest(BaseModel):
    """Body of ``POST /embed``."""

    model_config = ConfigDict(strict=True)

    inputs: str | list[str] = Field(
        examples=[["What is Vector Search?", "Hello, world!"]],
        # Described, and checked in ``read``: what is empty has an error of its own.
        json_schema_extra={
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
            ]
        },
    )
    truncate: bool | None = Field(
        False, description="Cut inputs that are too long, instead of refusing them."
    )
    normalize: bool = Field(True, description="Whether vectors have length 1.")

    @property
    def texts(self) -> list[str]:
        return [self.inputs] if isinstance(self.inputs, str) else self.inputs


class ErrorType(str, Enum):
    """What text-embeddings-inference calls its errors."""

    UNHEALTHY = "Unhealthy"
    BACKEND = "Backend"
    OVERLOADED = "Overloaded"
    VALIDATION = "Validation"
    TOKENIZER = "Tokenizer"
    EMPTY = "Empty"


STATUS = {
    ErrorType.UNHEALTHY: 503,
    ErrorType.BACKEND: 424,
    ErrorType.OVERLOADED: 429,
    ErrorType.VALIDATION: 413,
    ErrorType.TOKENIZER: 422,
    ErrorType.EMPTY: 400,
}


class ServiceError(Exception):
    """An answer that is an error: what is wrong, and its HTTP status."""

    def __init__(
        self,
        message: str,
        kind: ErrorType,
        status: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status or STATUS[kind]
        self.headers = headers

    @property
    def response(self) -> Response:
        body = orjson.dumps({"error": str(self), "error_type": self.kind.value})
        return Response(body, self.status, self.headers, media_type="application/json")


class ErrorBody(BaseModel):
    """Body of every error."""

    error: str
    error_type: ErrorType


def answer(vectors: Any) -> Response:
    """``vectors`` is a list of lists, or an array of floats."""
    return Response(
        orjson.dumps(vectors, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json"
    )


async def read(request: Request) -> EmbedRequest:
    """Reads a request's body.

    Raises ``ServiceError`` for one that is too large, or is not a request for embeddings.
    """
    kind = request.headers.get("content-type", "")
    if kind.split(";")[0].strip().lower() not in ("application/json", ""):
        raise ServiceError(
            f"Content-Type {kind!r} is not application/json", ErrorType.VALIDATION, 415
        )
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
    try:
        found = EmbedRequest.model_validate_json(bytes(body))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        status = 400 if first["type"] == "json_invalid" else 422
        raise ServiceError(
            f"{where + ': ' if where else ''}{first['msg']}", ErrorType.VALIDATION, status
        ) from None
    if not all(found.texts) or not found.texts:
        raise ServiceError("`inputs` cannot be empty", ErrorType.EMPTY)
    return found


def _too_large() -> ServiceError:
    return ServiceError(f"the body is larger than {MAX_BODY_BYTES:,} bytes", ErrorType.VALIDATION)


class ShortWay:
    """ASGI middleware that answers ``POST /embed`` itself, and leaves the rest to the framework.

    What FastAPI does around a handler (routing, dependencies, exit stacks) costs more than the
    handler here, and with two hundred clients at once every request waits for it: without it the
    proxy answers half as many requests again in a second.
    """

    def __init__(self, app: Any, embed: Handler) -> None:
        self._app = app
        self._embed = embed

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != EMBED_PATH or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            response = await self._embed(Request(scope, receive))
        except ServiceError as error:
            response = error.response
        await response(scope, receive, send)


def add_embed(app: FastAPI, embed: Handler) -> None:
    """Serves ``POST /embed`` by ``embed``, and describes it in the application's OpenAPI.

    ``embed`` may raise ``ServiceError``.
    """
    app.add_middleware(ShortWay, embed=embed)
    app.add_api_route(EMBED_PATH, embed, methods=["POST"], **EMBED_DOCUMENTATION)


def create(title: str, lifespan: Any) -> FastAPI:
    """An application whose errors all have the one shape."""
    app = FastAPI(title=title, version="1", lifespan=lifespan)

    async def answer_for_framework(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException), "registered for these alone"
        return ServiceError(
            str(error.detail), ErrorType.VALIDATION, error.status_code, dict(error.headers or {})
        ).response

    async def answer_for_bug(_request: Request, error: Exception) -> Response:
        return ServiceError(f"{type(error).__name__}: {error}", ErrorType.BACKEND, 500).response

    app.add_exception_handler(HTTPException, answer_for_framework)
    app.add_exception_handler(Exception, answer_for_bug)
    return app


def serve(app: FastAPI, ip: str, port: int, log_level: str) -> None:
    """Serves until it is terminated; then drains what it has accepted.

    With ``EXIT_WITH_STDIN`` set it ends when its standard input does: so it cannot outlive a
    program that has started it, however that one ends.
    """
    if os.environ.get("EXIT_WITH_STDIN"):

        def watch() -> None:
            sys.stdin.buffer.read()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, daemon=True).start()
    uvicorn.run(app, host=ip, port=port, log_level=log_level.lower(), access_log=False)


EMBED_DOCUMENTATION: dict[str, Any] = {
    "summary": "Embed one text, or several",
    "response_model": list[list[float]],
    "responses": {
        status: {"model": ErrorBody, "description": description}
        for status, description in (
            (400, "Not JSON, or no inputs"),
            (413, "Too many inputs, or too long ones"),
            (415, "Not application/json"),
            (422, "JSON, but not a request for embeddings"),
            (424, "The model failed"),
            (429, "Too much is waiting; see Retry-After"),
            (503, "The model cannot be reached"),
        )
    },
    "openapi_extra": {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": EmbedRequest.model_json_schema()}},
        }
    },
}
"""What FastAPI is told of ``POST /embed``; its body is read by ``read``, which is faster."""

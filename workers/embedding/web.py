"""The two services as web servers: settings, errors, the way to ``/embed``, and how they end."""

import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from reading import ClientGone
from starlette.exceptions import HTTPException
from wire import EMBED_DOCUMENTATION, EMBED_PATH, ErrorType, ServiceError

Handler = Callable[[Request], Awaitable[Response]]

_LEVELS = {
    **{name: name for name in ("critical", "error", "warning", "info", "debug", "trace")},
    **{"fatal": "critical", "off": "critical", "err": "error", "warn": "warning"},
    **{"notice": "info", "verbose": "debug", "notset": "trace", "all": "trace"},
}


def _level(name: str) -> str:
    """A usual name of a level of logging, as uvicorn has it."""
    found = _LEVELS.get(name.strip().lower())
    if found is None:
        raise ValueError(f"is not one of: {', '.join(_LEVELS)}")
    return found


class ServerSettings(BaseSettings):
    """What both services are told, from the environment or ``.env``."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore")

    ip: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    log_level: Annotated[str, AfterValidator(_level)] = "error"
    read_timeout: float = Field(
        default=10.0, gt=0, description="Seconds that the body of a request may take to come."
    )


Settings = TypeVar("Settings", bound=ServerSettings)


def load_settings(kind: type[Settings]) -> Settings:
    """The settings, or the end of the program with a sentence about what is wrong with them."""
    try:
        return kind()
    except ValidationError as error:
        for wrong in error.errors():
            name = ".".join(map(str, wrong["loc"])).upper()
            print(f"{name}={wrong['input']}: {wrong['msg']}", file=sys.stderr)
        raise SystemExit(2) from None


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
        except ClientGone:
            return
        await response(scope, receive, send)


def add_embed(app: FastAPI, embed: Handler) -> None:
    """Serves ``POST /embed`` by ``embed``, and describes it in the application's OpenAPI.

    ``embed`` may raise ``ServiceError`` and ``ClientGone``.
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


def serve(app: FastAPI, settings: ServerSettings, hurry: Callable[[], None] = lambda: None) -> None:
    """Serves until it is terminated; then hurries, and answers what it has accepted."""
    config = uvicorn.Config(
        app,
        host=settings.ip,
        port=settings.port,
        log_level=settings.log_level,
        access_log=False,
    )
    _Server(config, hurry).run()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, hurry: Callable[[], None]) -> None:
        super().__init__(config)
        self._hurry = hurry

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Before uvicorn waits for what is being answered.
        self._hurry()
        await super().shutdown(sockets)

"""Services of the embedding study: an embedder or its stand-in, a proxy, and requests to them."""

import http.client
import json
import socket
import sys
import urllib.parse
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

from waitbench.engines.base import Service
from waitbench.execution.services import running
from waitbench.model.conditions import Success, Words
from waitbench.model.placeholders import Site
from waitbench.model.worker import ServiceFile
from waitbench.system.paths import WORKERS, Cache

TOGETHER = {"MODE": "fixed", "MAX_BATCH_SIZE": "8", "MAX_WAIT_TIME": "200"}
LONG = {**TOGETHER, "MAX_WAIT_TIME": "60000"}
HEALTHY = "import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/health', timeout=5)"


@dataclass(frozen=True)
class Served:
    """Services that are up."""

    urls: tuple[str, ...]
    pids: tuple[int, ...]

    @property
    def url(self) -> str:
        """Of the last, which clients ask."""
        return self.urls[-1]


@contextmanager
def served(
    python: Path, logs: Path, proxy: Mapping[str, str], url: str | None = None
) -> Iterator[Served]:
    """A proxy before an embedder, or before somebody else's at ``url``."""
    site = Site(python=str(python), here=str(WORKERS / "embedding"))
    values = dict[str, str]()
    services = [_service("embedder", {}, site, values)] if url is None else []
    settings = {**proxy, "INFERENCE_SERVICE_URL": url or "http://127.0.0.1:{embedder.port}"}
    services.append(_service("proxy", settings, site, values))
    with running(services, logs, Cache()) as up:
        yield Served(
            tuple(f"http://127.0.0.1:{server.state.config.port}" for server in up.servers),
            tuple(server.state.pid for server in up.servers),
        )


def _service(name: str, settings: Mapping[str, str], site: Site, values: dict[str, str]) -> Service:
    given = [f"{key}={value}" for key, value in settings.items()]
    words = ("env", "PORT={port}", *given, "{python}", f"{{here}}/{name}.py")
    ready = Success(Words((sys.executable, "-c", HEALTHY)))
    file = ServiceFile(command=Words(words), ready=ready)
    return Service(name=name, file=file, site=site, values=values)


@dataclass(frozen=True)
class Response:
    """What a service answered."""

    status: int
    headers: Message
    data: Any
    """The body: as data where it is JSON."""


def exchange(
    url: str,
    body: bytes | object,
    path: str = "/embed",
    method: str = "POST",
    kind: str = "application/json",
) -> Response:
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=30)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, content, {"Content-Type": kind})
    response = connection.getresponse()
    data = response.read()
    connection.close()
    is_json = bool(data) and response.headers.get_content_type() == "application/json"
    return Response(response.status, response.headers, json.loads(data) if is_json else data)


def ask(*arguments: Any, **more: Any) -> tuple[int, Any]:
    """The status of what ``exchange`` gives, and its data."""
    response = exchange(*arguments, **more)
    return response.status, response.data


def exchange_together(url: str, bodies: list[dict[str, Any]]) -> list[Response]:
    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(lambda body: exchange(url, body), bodies))


def ask_together(url: str, bodies: list[dict[str, Any]]) -> list[tuple[int, Any]]:
    return [(one.status, one.data) for one in exchange_together(url, bodies)]


def begin(url: str, body: bytes, *, sent: int | None = None) -> socket.socket:
    """A client that has sent its request, or the beginning of the body."""
    parts = urllib.parse.urlsplit(url)
    client = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30)
    head = f"POST /embed HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
    client.sendall(head.encode() + body[:sent])
    return client


def counted(url: str, name: str) -> float:
    """What the proxy itself counts by this name, or of answers by this status."""
    name = f'proxy_answers_total{{status="{name}"}}' if name.isalnum() else name
    lines = ask(url, b"", "/metrics", "GET")[1].decode().splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))

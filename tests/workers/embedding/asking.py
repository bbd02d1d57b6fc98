"""Requests to an embedding service, or to what stands before it."""

import http.client
import json
import urllib.parse
from dataclasses import dataclass
from email.message import Message
from typing import Any

import pytest


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


def embed(url: str, *texts: str, **more: object) -> Any:
    """The vectors of texts, which must be embedded."""
    status, vectors = ask(url, {"inputs": list(texts), **more})
    assert status == 200, vectors
    return vectors


def close_to(expected: Any) -> Any:
    """Vectors that differ from these by rounding at most."""
    return [pytest.approx(vector, abs=1e-4) for vector in expected]

"""Requests to an embedding service, or to what stands before it."""

import http.client
import json
import urllib.parse
from typing import Any

import pytest


def ask(
    url: str,
    body: bytes | object,
    path: str = "/embed",
    method: str = "POST",
    kind: str = "application/json",
) -> tuple[int, Any]:
    """The answer's status, and its body: as data where it is JSON."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=30)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, content, {"Content-Type": kind})
    response = connection.getresponse()
    text = response.read()
    connection.close()
    is_json = bool(text) and response.headers.get_content_type() == "application/json"
    return response.status, json.loads(text) if is_json else text


def embed(url: str, *texts: str, **more: object) -> Any:
    """The vectors of texts, which must be embedded."""
    status, vectors = ask(url, {"inputs": list(texts), **more})
    assert status == 200, vectors
    return vectors


def close_to(expected: Any) -> Any:
    """Vectors that differ from these by rounding at most."""
    return [pytest.approx(vector, abs=1e-4) for vector in expected]

"""A proxy in front of an upstream that misbehaves."""

import socket
import urllib.parse
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.workers.embedding.asking import Response, ask, exchange
from tests.workers.embedding.plans import Served, served
from tests.workers.embedding.upstreams import Upstream

TOGETHER = {"MODE": "fixed", "MAX_BATCH_SIZE": "8", "MAX_WAIT_TIME": "200"}
LONG = {**TOGETHER, "MAX_WAIT_TIME": "60000"}


@contextmanager
def proxy(
    python: Path, logs: Path, upstream: Upstream, settings: Mapping[str, str]
) -> Iterator[Served]:
    with served(python, logs, settings, upstream.url) as found:
        yield found


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


def answers(url: str, status: str) -> float:
    """How many requests ended so; ``left``: have left in a batch. By the proxy's own count."""
    wanted = (
        "proxy_wait_seconds_count "
        if status == "left"
        else f'proxy_answers_total{{status="{status}"}} '
    )
    lines = ask(url, b"", "/metrics", "GET")[1].decode().splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith(wanted))


def queue_length(url: str) -> float:
    """How many requests wait in a proxy for a batch, by its own count."""
    _, metrics = ask(url, b"", "/metrics", "GET")
    (length,) = (
        line.split()[1]
        for line in metrics.decode().splitlines()
        if line.startswith("proxy_queue_length ")
    )
    return float(length)

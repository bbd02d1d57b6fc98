"""Our client: a load from a number of connections, each its next request when it has the answer."""

import asyncio
import json
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from itertools import count
from statistics import fmean

from waitbench.families.embedding.connection import Connection
from waitbench.families.embedding.traffic import KINDS, Load, Questions
from waitbench.model.metrics import quantile

_CHECKED_SHARE = 50
"""One answer in so many is checked."""
OVERTIME_S = 30.0
"""Requests under way at the end are waited for so long, and count."""
_AFTER_NO_CONNECTION_S = 0.1
_AFTER_ERROR_S = 0.05


def put(url: str, questions: Questions, connections: int, duration_s: float) -> Load:
    """Puts a load on ``url``."""
    return asyncio.run(_put(url, questions, connections, duration_s))


async def _put(url: str, questions: Questions, connections: int, duration_s: float) -> Load:
    parts = urllib.parse.urlsplit(url)
    by_tls = parts.scheme == "https"
    path = f"{parts.path.rstrip('/')}/embed"
    requests = [_request(parts.netloc, path, texts) for texts in questions.texts]
    load = Load("asyncio", duration_s)
    end = time.perf_counter() + duration_s

    async def client(number: int) -> None:
        """Connects again for as long as there is time, whatever becomes of a connection."""
        loop = asyncio.get_running_loop()
        # Clients begin with different kinds of requests.
        kinds = count(number)
        while time.perf_counter() < end:
            try:
                _, connection = await loop.create_connection(
                    Connection,
                    parts.hostname or "127.0.0.1",
                    parts.port or (443 if by_tls else 80),
                    ssl=by_tls or None,
                )
            except OSError as error:
                load.count_failure(type(error).__name__, str(error))
                await asyncio.sleep(_AFTER_NO_CONNECTION_S)
                continue
            try:
                await send_all(connection, kinds)
            except (ConnectionError, asyncio.TimeoutError) as error:
                load.count_failure(type(error).__name__, str(error))
            finally:
                connection.close()

    async def send_all(connection: Connection, kinds: Iterator[int]) -> None:
        """Sends one request after the other, for as long as the service keeps the connection."""
        while connection.is_kept and time.perf_counter() < end:
            kind = next(kinds) % KINDS
            sent = time.perf_counter()
            status, content = await connection.exchange(requests[kind])
            if status != "200":
                load.count_failure(status, content.decode(errors="replace"))
                await asyncio.sleep(_AFTER_ERROR_S)
                continue
            now = time.perf_counter()
            load.count_answer(now - sent, len(content), is_late=now > end)
            if load.answered % _CHECKED_SHARE == 0:
                load.checked += 1
                load.wrong += not questions.is_answered_by(content, kind)

    clients = [asyncio.create_task(client(number)) for number in range(connections)]
    done, late = await asyncio.wait(clients, timeout=duration_s + OVERTIME_S)
    for task in late:
        task.cancel()
        load.count_failure("never answered", "")
    for task in done:
        task.result()
    load.drain_s = max(0.0, time.perf_counter() - end)
    load.percentiles_s = _percentiles(load.latencies_s)
    return load


def _request(host: str, path: str, texts: Sequence[str]) -> bytes:
    body = json.dumps({"inputs": list(texts)})
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode()


def _percentiles(latencies_s: Sequence[float]) -> dict[str, float]:
    if not latencies_s:
        return {}
    return {
        "min": min(latencies_s),
        "mean": fmean(latencies_s),
        "50%": quantile(latencies_s, 0.5),
        "90%": quantile(latencies_s, 0.9),
        "99%": quantile(latencies_s, 0.99),
        "max": max(latencies_s),
    }

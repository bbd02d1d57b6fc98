"""Requests to an embedding service, or to the proxy before it: all but the load itself."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from waitbench.model.errors import HarnessError, UsageError

_CALLS_COUNTER = "proxy_upstream_seconds_count"
_WARM_UP_CLIENTS, _WARM_UP_REQUESTS = 8, 40


def describe(url: str) -> Mapping[str, object]:
    """Asks a service what it says of itself at ``/info``.

    Raises ``UsageError`` for what is not a URL, ``HarnessError`` where no such service answers.
    """
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"--url {url!r} is not a valid URL, such as http://127.0.0.1:8080")
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/info", timeout=10) as response:
            found: Mapping[str, object] = dict(json.load(response))
            return found
    except (OSError, ValueError, TypeError) as error:
        raise HarnessError(
            f"{url}/info does not answer as an embedding service does: {error}."
        ) from error


def embed(url: str, texts: Sequence[str]) -> list[list[float]]:
    """The vectors of texts, in order. Raises ``HarnessError``."""
    body = json.dumps({"inputs": list(texts)}).encode()
    request = urllib.request.Request(f"{url}/embed", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            vectors: list[list[float]] = json.load(response)
            return vectors
    except (OSError, ValueError) as error:
        raise HarnessError(f"{url} does not embed: {error}.") from error


def warm_up(url: str) -> None:
    """Has a service answer a few requests, so many at once as fill a batch of the published rule.

    Raises ``HarnessError``.
    """
    with ThreadPoolExecutor(_WARM_UP_CLIENTS) as pool:
        list(pool.map(lambda _: embed(url, ["warm", "up"]), range(_WARM_UP_REQUESTS)))


def upstream_calls(url: str) -> int:
    """The number of calls that a proxy has made so far, from its ``/metrics``."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=5) as response:
        lines = response.read().decode().splitlines()
    (count,) = (line.split()[1] for line in lines if line.startswith(_CALLS_COUNTER))
    return int(float(count))

"""The least application of WSGI, for servers that wait for a request."""

from collections.abc import Callable, Iterable
from typing import Any


def app(_environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answers every request with ``ok``."""
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]

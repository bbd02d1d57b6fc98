"""A service with the interface of an embedding service, that can be told to misbehave.

Its vectors are a function of text and options, so that anybody can tell whether an answer is right.
"""

import json
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

INFO = {"max_client_batch_size": 32}
Text = str | list[int]
"""Or the ids of its tokens."""


def vector(text: Text, options: Mapping[str, Any]) -> list[float]:
    """The vector of a text, asked for with these options."""
    text = text if isinstance(text, str) else json.dumps(text)
    wanted = json.dumps(options, sort_keys=True)
    return [float(zlib.crc32(part.encode())) for part in (text, wanted, text + wanted)]


def split(body: bytes) -> tuple[list[Text], dict[str, Any]]:
    """The texts and the options of a request."""
    options = json.loads(body)
    texts = options.pop("inputs")
    is_one = isinstance(texts, str) or isinstance(texts[0], int)
    return [texts] if is_one else texts, options


class Call(BaseHTTPRequestHandler):
    """One request that the service got, and the ways to answer it."""

    protocol_version = "HTTP/1.1"
    server: "Upstream"
    body = b""
    on_connection = -1
    """From 0, of those of the same connection."""

    def do_GET(self) -> None:
        self.server.inform(self)

    def do_POST(self) -> None:
        self.on_connection += 1
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(self.body)
        self.server.behave(self)

    def log_message(self, *_arguments: object) -> None:
        pass

    def answer(self, found: object = None, status: int = 200, **headers: str) -> None:
        """Answers rightly, or something else: bytes, or data that become JSON."""
        if found is None:
            texts, options = split(self.body)
            found = [vector(text, options) for text in texts]
        data = found if isinstance(found, bytes) else json.dumps(found).encode()
        lines = [
            f"HTTP/1.1 {status} Status",
            "Content-Type: application/json",
            *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
            f"Content-Length: {len(data)}",
        ]
        self.wfile.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)


Behaviour = Callable[[Call], None]


def hang_up(call: Call) -> None:
    """Closes the connection."""
    call.close_connection = True


def limited(most_bytes: int) -> Behaviour:
    """Refuses larger bodies."""

    def behave(call: Call) -> None:
        is_larger = len(call.body) > most_bytes
        call.answer(b"length limit exceeded", 413) if is_larger else call.answer()

    return behave


class Upstream(ThreadingHTTPServer):
    """A service that is up: behaviours may be exchanged, and all it is asked can be read."""

    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Call)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.inform: Behaviour = lambda call: call.answer(INFO)
        """What is done to requests for ``/info``."""
        self.reset()

    def reset(self) -> None:
        """Behaves well again, and forgets what it was asked."""
        self.behave: Behaviour = lambda call: call.answer()
        self.bodies: list[bytes] = []

    @property
    def texts(self) -> list[Text]:
        """All that were asked for."""
        return [text for body in self.bodies for text in split(body)[0]]

    def handle_error(self, *_arguments: object) -> None:
        """Says nothing of clients that have gone."""


@contextmanager
def running() -> Iterator[Upstream]:
    """The service in threads of its own, on a free port."""
    with Upstream() as upstream:
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        yield upstream
        upstream.shutdown()

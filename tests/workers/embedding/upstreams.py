"""A service with the interface of an embedding service, that can be told to misbehave."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Call(BaseHTTPRequestHandler):
    """One request that the service got, and the way to answer it."""

    protocol_version = "HTTP/1.1"
    server: "Upstream"

    def do_GET(self) -> None:
        self.server.inform(self)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.behave(self)

    def log_message(self, *_arguments: object) -> None:
        pass

    def answer(self, content: object, status: int = 200) -> None:
        """Answers with bytes, or with data that become JSON."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        lines = [
            f"HTTP/1.1 {status} Status",
            "Content-Type: application/json",
            f"Content-Length: {len(data)}",
        ]
        self.wfile.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)


Behaviour = Callable[[Call], None]


def hang_up(call: Call) -> None:
    """Closes the connection."""
    call.close_connection = True


class Upstream(ThreadingHTTPServer):
    """A service that is up; its behaviours may be exchanged."""

    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Call)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.inform: Behaviour = hang_up
        """What is done to requests that ask for something."""
        self.behave: Behaviour = hang_up

    def handle_error(self, *_arguments: object) -> None:
        """Says nothing of clients that have gone."""


@contextmanager
def running() -> Iterator[Upstream]:
    """The service in threads of its own, on a free port."""
    with Upstream() as upstream:
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        yield upstream
        upstream.shutdown()

"""Requests to services that are not there, or are something else."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import traffic

ANSWERS = {
    "/info": b'{"max_client_batch_size": 7}',
    "/list/info": b"[1]",
    "/text/info": b"hello",
    "/metrics": b"# HELP\nproxy_upstream_seconds_count 12.0\nproxy_upstream_seconds_sum 3.5\n",
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = ANSWERS.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"[[1], [2]]")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["/nowhere", "/list", "/text"])
def test_something_else_that_answers_is_named(url: str, path: str) -> None:
    said = re.escape(f"{url}{path}/info does not answer as an embedding service does")
    with pytest.raises(traffic.ServiceError, match=said):
        traffic.describe(url + path)


def test_a_service_that_is_not_there_is_named() -> None:
    with pytest.raises(traffic.ServiceError, match=r"http://127\.0\.0\.1:9/info does not answer"):
        traffic.describe("http://127.0.0.1:9")
    with pytest.raises(traffic.ServiceError, match=r"http://127\.0\.0\.1:9 does not embed"):
        traffic.embed("http://127.0.0.1:9", ["a"])


def test_the_calls_of_a_proxy_are_counted_by_itself(url: str) -> None:
    assert traffic.upstream_calls(url) == 12

"""Our client of a service that is not there, that fails, and that answers wrongly."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import client
import pytest
from traffic import KINDS, Questions

QUESTIONS = Questions([["a"]] * KINDS, [[[1.0, 2.0]]] * KINDS)


@contextmanager
def service(
    status: int,
    body: object,
    paths: list[str] | None = None,
    *,
    protocol: str = "HTTP/1.1",
    delay_s: float = 0.0,
) -> Iterator[str]:
    """A service that answers everything in one way. ``paths`` gets those that are asked for."""
    content = json.dumps(body).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = protocol
        # In one write: the second of two would wait for the client's acknowledgement of the first.
        wbufsize = 1 << 16

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if paths is not None:
                paths.append(self.path)
            time.sleep(delay_s)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def one_answer_in_three_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_CHECKED_SHARE", 3)


def test_right_answers_are_timed_and_a_part_of_them_is_checked() -> None:
    with service(200, [[1.0, 2.0]]) as url:
        load = client.put(url, QUESTIONS, 2, 0.5)
    assert set(load.statuses) == {"200"}
    assert load.answered == len(load.latencies_s) > 3
    assert load.checked == load.answered // 3
    assert load.body_bytes == load.answered * len(b"[[1.0, 2.0]]")
    assert load.wrong == 0


def test_vectors_of_other_texts_are_counted_as_wrong() -> None:
    with service(200, [[2.0, 1.0]]) as url:
        load = client.put(url, QUESTIONS, 2, 0.5)
    assert load.wrong == load.checked > 0


def test_the_rate_is_that_of_the_load_without_what_came_after_it() -> None:
    with service(200, [[1.0, 2.0]], delay_s=0.6) as url:
        load = client.put(url, QUESTIONS, 3, 0.9)
    assert load.duration_s == 0.9
    assert 0 < load.late == 3 <= load.answered, "each client's last request is under way then"
    assert 0 < load.drain_s < client.OVERTIME_S
    assert load.requests_per_s == pytest.approx((load.answered - 3) / 0.9)
    assert load.late_bytes == 3 * len(b"[[1.0, 2.0]]")


def test_errors_of_the_service_are_counted_by_status_and_not_timed() -> None:
    with service(503, {"error": "busy"}) as url:
        load = client.put(url, QUESTIONS, 2, 0.2)
    assert set(load.statuses) == {"503"}
    assert (load.latencies_s, load.success_rate) == ([], 0.0)


def test_a_service_that_keeps_no_connection_is_connected_to_again_without_an_error() -> None:
    with service(200, [[1.0, 2.0]], protocol="HTTP/1.0") as url:
        load = client.put(url, QUESTIONS, 1, 0.3)
    assert set(load.statuses) == {"200"}
    assert load.answered > 3
    assert load.wrong == 0

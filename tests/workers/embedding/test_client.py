"""Our client of a service that answers rightly, wrongly or not at all, and what it measures."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import client
import pytest
import traffic
from load import figures
from traffic import KINDS, Load, Questions

from waitbench.engines.worker import file as worker_file
from waitbench.system.paths import WORKERS


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


RIGHT, BODY = [[1.0, 2.0], [3.0, 4.0]], b"[[1.0, 2.0], [3.0, 4.0]]"
QUESTIONS = Questions([["a", "b"]] * KINDS, [RIGHT] * KINDS)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with running() as upstream:
        yield upstream


def answering(vectors: object, status: int = 200) -> Behaviour:
    return lambda call: call.answer(vectors, status)


def answer_once(call: Call) -> None:
    call.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + BODY)
    call.close_connection = True


@pytest.mark.parametrize(
    ("behave", "status", "is_right"),
    [
        (answering(RIGHT), "200", True),
        (answer_once, "200", True),
        (answering([[2.0, 1.0]]), "200", False),
        (answering({"error": "busy"}, 503), "503", False),
        (hang_up, "ConnectionResetError", False),
    ],
    ids=["kept", "closed", "wrong", "busy", "hangs up"],
)
def test_right_answers_are_timed_a_part_is_checked_and_all_others_are_counted_by_kind(
    behave: Behaviour, status: str, is_right: bool, upstream: Upstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(client, "_CHECKED_SHARE", 3)
    upstream.behave = behave
    load = client.put(upstream.url, QUESTIONS, connections=2, duration_s=0.5)
    assert set(load.statuses) == {status}
    assert load.answered == len(load.latencies_s)
    assert (load.answered > 3) is (status == "200")
    assert load.checked == load.answered // 3
    assert load.wrong == (0 if is_right else load.checked)
    assert not is_right or load.body_bytes == load.answered * len(BODY)


def test_figures_are_of_right_answers_in_time(upstream: Upstream) -> None:
    upstream.inform = answering(b"# HELP\nproxy_upstream_seconds_count 2.0\n")
    load = Load(2.0)
    for late in (False, False, False, True):
        load.count_answer(0.5, 100, is_late=late)
    load.count_failure("503", "busy")
    found = figures(load, traffic.upstream_calls(upstream.url))
    assert found == {
        "rate": 1.5, "request": [0.5] * 4, "size": 100, "success": 80, "requests-per-call": 2
    }  # fmt: skip
    assert set(found) == set(worker_file.read(WORKERS / "embedding" / "load.toml").metrics)
    load.checked = load.wrong = 1
    with pytest.raises(SystemExit, match="1 of 1 answers were wrong; failed: 1 × 503: busy"):
        figures(load, 2)
    with pytest.raises(SystemExit, match="0 of 0"):
        figures(Load(2.0), 0)


@pytest.mark.parametrize(
    "content",
    [
        b"[[3, 4], [1, 2]]",
        b"[[1.001, 2], [3, 4]]",
        b"[[1, 2]]",
        b"[[1, 2], [3]]",
        b'[["a", 2], [3, 4]]',
        b"[[1, 2], [3",
    ],
)
def test_an_answer_is_right_but_for_rounding_and_anything_else_is_wrong(content: bytes) -> None:
    assert QUESTIONS.is_answered_by(b"[[1.00001, 2], [3, 4]]", 0)
    assert not QUESTIONS.is_answered_by(content, 0)

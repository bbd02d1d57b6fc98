"""The proxy when clients are few or many, and when what is behind it or around it fails."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from tests.services.asking import ask, embed
from tests.services.plans import plan
from tests.waiting import until
from waitbench.execution.services import running
from waitbench.system.places import ROOT

pytestmark = pytest.mark.integration

FIXED = {"MODE": "fixed", "MAX_BATCH_SIZE": "8", "MAX_WAIT_TIME": "300"}
ADAPTIVE = {"MODE": "adaptive"}


def test_fixed_mode_waits_for_company_that_does_not_come(
    services_python: Path, tmp_path: Path
) -> None:
    with running(services_python, plan(FIXED), tmp_path) as found:
        begun = time.monotonic()
        embed(found.url, "alone")
        assert time.monotonic() - begun > 0.3, "MAX_WAIT_TIME"


def test_an_upstream_that_dies_and_comes_back_costs_only_what_was_under_way(
    services_python: Path, tmp_path: Path
) -> None:
    with running(services_python, plan(ADAPTIVE), tmp_path) as found:
        assert len(embed(found.url, "before")) == 1
        os.kill(found.servers[0].pid, signal.SIGKILL)
        statuses = set()
        for _ in range(20):
            status, said = ask(found.url, {"inputs": "during"})
            statuses.add(status)
            assert set(said) == {"error", "error_type"}
        assert statuses <= {503, 424}
        port = str(urllib.parse.urlsplit(found.urls[0]).port)
        again = subprocess.Popen(
            [services_python, "-m", "services.embedder"],
            env={**os.environ, "PORT": port, "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
        )
        try:
            until(lambda: ask(found.url, {"inputs": "after"})[0] == 200)
        finally:
            again.kill()
            again.wait()


def queue_length(url: str) -> float:
    """How many requests wait in a proxy for a batch, by its own count."""
    _, metrics = ask(url, b"", "/metrics", "GET")
    (length,) = (
        line.split()[1]
        for line in metrics.decode().splitlines()
        if line.startswith("proxy_queue_length ")
    )
    return float(length)


@contextmanager
def odd_upstream(
    status: int, body: bytes, delay_s: float = 0.0, together: list[int] | None = None
) -> Iterator[str]:
    """A service that answers every call in one way, after a while.

    ``together`` gets, for each call, how many the service is then serving.
    """
    under_way: set[object] = set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            under_way.add(self)
            if together is not None:
                together.append(len(under_way))
            time.sleep(delay_s)
            under_way.discard(self)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "delay_s", "expected"),
    [
        (200, b"[[1.0, 2.0]]", 0, (424, "1 vectors for 2 inputs")),
        (200, b"[[1.0], [2.0], [3.0]]", 0, (424, "3 vectors for 2 inputs")),
        (200, b'[["a"], [2.0]]', 0, (424, "or no vectors")),
        (200, b'{"a": 1}', 0, (424, "dict vectors for 2 inputs")),
        (200, b"[[1.0], [2", 0, (424, "not JSON")),
        (500, b"boom", 0, (424, "status 500")),
        (
            429,
            b'{"error": "Model is overloaded", "error_type": "Overloaded"}',
            0,
            (429, "overloaded"),
        ),
        (200, b"[[1.0], [2.0]]", 2, (503, "within 0.5 s")),
    ],
)
def test_a_misbehaving_upstream_is_a_proper_error_for_all_who_wait(
    services_python: Path,
    tmp_path: Path,
    status: int,
    body: bytes,
    delay_s: float,
    expected: tuple[int, str],
) -> None:
    with odd_upstream(status, body, delay_s) as url:
        settings = {**FIXED, "MAX_BATCH_SIZE": "2", "UPSTREAM_TIMEOUT": "0.5"}
        with (
            running(services_python, plan(settings, url=url), tmp_path) as found,
            ThreadPoolExecutor(2) as pool,
        ):
            for answer in pool.map(lambda text: ask(found.url, {"inputs": text}), ["a", "b"]):
                assert answer[0] == expected[0]
                assert expected[1] in answer[1]["error"]
                assert set(answer[1]) == {"error", "error_type"}


@pytest.mark.parametrize(("allowed", "most"), [("2", 2), ("0", 6)])
def test_the_upstream_gets_so_many_calls_at_once_and_no_more(
    services_python: Path, tmp_path: Path, allowed: str, most: int
) -> None:
    together: list[int] = []
    settings = {"MAX_BATCH_SIZE": "1", "UPSTREAM_BATCH_LIMIT": "1", "MAX_UPSTREAM_CALLS": allowed}
    with (
        odd_upstream(200, b"[[1.0]]", 0.5, together) as url,
        running(services_python, plan(settings, url=url), tmp_path) as found,
        ThreadPoolExecutor(6) as pool,
    ):
        assert list(pool.map(lambda text: embed(found.url, text), "abcdef")) == [[[1.0]]] * 6
    assert max(together) == most


def test_a_full_queue_says_when_to_come_back(services_python: Path, tmp_path: Path) -> None:
    settings = {**FIXED, "MAX_QUEUE": "2", "MAX_WAIT_TIME": "1500"}
    with (
        running(services_python, plan(settings), tmp_path) as found,
        ThreadPoolExecutor(2) as pool,
    ):
        waiting = [pool.submit(embed, found.url, text) for text in "ab"]
        until(lambda: queue_length(found.url) == 2)
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(found.url).netloc, timeout=30)
        connection.request(
            "POST", "/embed", b'{"inputs": "c"}', {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        assert response.status == 429
        assert response.headers["Retry-After"] == "1"
        assert json.loads(response.read())["error_type"] == "Overloaded"
        connection.close()
        assert all(len(future.result()) == 1 for future in waiting)


def test_a_terminated_proxy_answers_what_it_has_accepted(
    services_python: Path, tmp_path: Path
) -> None:
    settings = {**FIXED, "MAX_WAIT_TIME": "1500"}
    with (
        running(services_python, plan(settings), tmp_path) as found,
        ThreadPoolExecutor(5) as pool,
    ):
        waiting = [pool.submit(embed, found.url, text) for text in "abcde"]
        until(lambda: queue_length(found.url) == 5)
        os.kill(found.servers[1].pid, signal.SIGTERM)
        assert all(len(future.result()) == 1 for future in waiting)


def test_services_do_not_outlive_a_harness_that_is_killed(
    services_python: Path, tmp_path: Path
) -> None:
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from tests.services.plans import plan\n"
        "from waitbench.execution.services import running\n"
        "with running(Path(sys.argv[2]), plan({}), Path(sys.argv[3])) as up:\n"
        "    print(*(server.pid for server in up.servers), flush=True)\n"
        "    time.sleep(600)\n"
    )
    harness = subprocess.Popen(
        [sys.executable, "-c", program, str(ROOT), str(services_python), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert harness.stdout is not None
    pids = [int(pid) for pid in harness.stdout.readline().split()]
    assert len(pids) == 2
    harness.kill()
    harness.wait()
    harness.stdout.close()
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids))

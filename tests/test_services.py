"""The embedding service and its proxy as their clients meet them: over HTTP."""

import http.client
import json
import os
import signal
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.places import ROOT, Cache
from harness.scenarios import ServicePlan
from harness.services import Running, make_environment, running

pytestmark = pytest.mark.integration

FIXED = {"MODE": "fixed", "MAX_BATCH_SIZE": "8", "MAX_WAIT_TIME": "300"}
ADAPTIVE = {"MODE": "adaptive"}


@pytest.fixture(scope="module")
def python() -> Path:
    return make_environment(Cache(), lambda _what: None)


@pytest.fixture(scope="module")
def up(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An embedder, and an adaptive proxy before it."""
    with running(python, ServicePlan({}, ADAPTIVE), tmp_path_factory.mktemp("logs")) as found:
        yield found


def ask(
    url: str, body: bytes | object, path: str = "/embed", method: str = "POST", kind: str = "application/json"
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=30)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, content, {"Content-Type": kind})
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text and response.headers.get_content_type() == "application/json" else text


def embed(url: str, *texts: str, **more: object) -> Any:
    status, vectors = ask(url, {"inputs": list(texts), **more})
    assert status == 200, vectors
    return vectors


def close_to(expected: Any) -> Any:
    return [pytest.approx(vector, abs=1e-4) for vector in expected]


def test_vectors_are_the_models_own(up: Running, python: Path) -> None:
    texts = ["What is Vector Search?", "Hello, world!", "a", "ünïcödé ✓", "x " * 300]
    program = (
        "import json, os, sys, wordllama; "
        "m = wordllama.WordLlama.load(cache_dir=os.path.dirname(wordllama.__file__), dim=256, disable_download=True); "
        "print(json.dumps([m.embed([t], norm=True)[0].tolist() for t in json.load(sys.stdin)]))"
    )
    done = subprocess.run([python, "-c", program], input=json.dumps(texts), capture_output=True, text=True, check=True)
    expected = json.loads(done.stdout)
    assert len(expected[0]) == 256
    for url in (up.embedder_url, up.url):
        assert embed(url, *texts) == close_to(expected)
        assert ask(url, {"inputs": texts[0]}) == (200, close_to(expected[:1])), "a single string is a list of one"
        assert sum(x * x for x in embed(url, texts[0], normalize=False)[0]) != pytest.approx(1, abs=0.01)


def test_long_texts_are_refused_or_cut(up: Running) -> None:
    for url in (up.embedder_url, up.url):
        status, said = ask(url, {"inputs": ["word " * 2000]})
        assert status == 413
        assert "less than 512 tokens" in said["error"]
        assert len(embed(url, "word " * 2000, truncate=True)) == 1


def test_the_proxy_splits_and_joins_what_is_too_much_for_one_call(up: Running) -> None:
    texts = [f"text number {number}" for number in range(100)]
    status, said = ask(up.embedder_url, {"inputs": texts})
    assert (status, said["error_type"]) == (413, "Validation")
    one_by_one = [embed(up.embedder_url, text)[0] for text in texts]
    assert embed(up.url, *texts) == close_to(one_by_one)


@pytest.mark.parametrize(
    ("body", "kind", "statuses"),
    [
        (b"", "application/json", {400}),
        (b"nonsense", "application/json", {400}),
        (b'{"inputs": ["\xff\xfe"]}', "application/json", {400, 422}),
        (b'{"inputs": ["a"]}', "text/plain", {415}),
        ({}, "application/json", {422}),
        ({"inputs": 7}, "application/json", {422}),
        ({"inputs": ["a", 7]}, "application/json", {422}),
        ({"inputs": [["a"]]}, "application/json", {422}),
        ({"inputs": None}, "application/json", {422}),
        ({"inputs": "a", "truncate": "maybe"}, "application/json", {422}),
        ([], "application/json", {422}),
        ({"inputs": []}, "application/json", {400}),
        ({"inputs": ""}, "application/json", {400}),
        ({"inputs": ["a", ""]}, "application/json", {400}),
        ({"inputs": ["x" * 2_100_000]}, "application/json", {413}),
    ],
)
def test_bad_bodies_get_an_error_in_the_services_shape(up: Running, body: Any, kind: str, statuses: set[int]) -> None:
    for url in (up.embedder_url, up.url):
        status, said = ask(url, body, kind=kind)
        assert status in statuses, said
        assert set(said) == {"error", "error_type"}
    assert len(embed(up.url, "still there")) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=8,
)
REQUESTS = st.dictionaries(st.sampled_from(["inputs", "truncate", "normalize", "else"]), JSON, max_size=4)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200)
    | REQUESTS.map(lambda value: json.dumps(value).encode())
    | JSON.map(lambda v: json.dumps(v).encode())
)
def test_no_body_whatever_brings_an_error_of_the_servers(up: Running, body: bytes) -> None:
    answers = [ask(url, body) for url in (up.embedder_url, up.url)]
    assert all(status < 500 for status, _ in answers), answers
    assert answers[0][0] == answers[1][0], "a client cannot tell the proxy from the service"


def test_both_describe_themselves(up: Running) -> None:
    for url in (up.embedder_url, up.url):
        assert ask(url, b"", "/health", "GET")[0] == 200
        assert ask(url, b"", "/docs", "GET")[0] == 200
        _, described = ask(url, b"", "/openapi.json", "GET")
        assert "inputs" in json.dumps(described["paths"]["/embed"]["post"]["requestBody"])
        assert ask(url, b"", "/nothing", "GET")[0] == 404
    _, info = ask(up.embedder_url, b"", "/info", "GET")
    assert info["max_client_batch_size"] == 32
    _, metrics = ask(up.url, b"", "/metrics", "GET")
    for name in (
        b"proxy_queue_length",
        b"proxy_batch_requests_bucket",
        b"proxy_wait_seconds_count",
        b"proxy_upstream_seconds_sum",
    ):
        assert name in metrics


def test_fixed_mode_waits_for_company_that_does_not_come(python: Path, tmp_path: Path) -> None:
    with running(python, ServicePlan({}, FIXED), tmp_path) as found:
        begun = time.monotonic()
        embed(found.url, "alone")
        assert time.monotonic() - begun > 0.3, "MAX_WAIT_TIME"


def test_an_upstream_that_dies_and_comes_back_costs_only_what_was_under_way(python: Path, tmp_path: Path) -> None:
    with running(python, ServicePlan({}, ADAPTIVE), tmp_path) as found:
        assert len(embed(found.url, "before")) == 1
        os.kill(found.pids["embedder"], signal.SIGKILL)
        statuses = set()
        for _ in range(20):
            status, said = ask(found.url, {"inputs": "during"})
            statuses.add(status)
            assert set(said) == {"error", "error_type"}
        assert statuses <= {503, 424}
        port = str(urllib.parse.urlsplit(found.embedder_url).port)
        again = subprocess.Popen(
            [python, "-m", "services.embedder"], env={**os.environ, "PORT": port, "PYTHONPATH": str(ROOT)}, cwd=tmp_path
        )
        try:
            end = time.monotonic() + 30
            while ask(found.url, {"inputs": "after"})[0] != 200:
                assert time.monotonic() < end, "the proxy does not recover"
                time.sleep(0.1)
        finally:
            again.kill()
            again.wait()


@contextmanager
def odd_upstream(status: int, body: bytes, delay_s: float = 0.0, together: list[int] | None = None) -> Iterator[str]:
    """A service that answers every call in one way. ``together``: to each call it adds how many it is then serving."""
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
        (200, b"[[1.0], [2", 0, (424, "no JSON")),
        (500, b"boom", 0, (424, "status 500")),
        (429, b'{"error": "Model is overloaded", "error_type": "Overloaded"}', 0, (429, "overloaded")),
        (200, b"[[1.0], [2.0]]", 2, (503, "within 0.5 s")),
    ],
)
def test_a_misbehaving_upstream_is_a_proper_error_for_all_who_wait(
    python: Path, tmp_path: Path, status: int, body: bytes, delay_s: float, expected: tuple[int, str]
) -> None:
    with odd_upstream(status, body, delay_s) as url:
        settings = {**FIXED, "MAX_BATCH_SIZE": "2", "UPSTREAM_TIMEOUT": "0.5"}
        with running(python, ServicePlan(url, settings), tmp_path) as found, ThreadPoolExecutor(2) as pool:
            for answer in pool.map(lambda text: ask(found.url, {"inputs": text}), ["a", "b"]):
                assert answer[0] == expected[0]
                assert expected[1] in answer[1]["error"]
                assert set(answer[1]) == {"error", "error_type"}


@pytest.mark.parametrize(("allowed", "most"), [("2", 2), ("0", 6)])
def test_the_upstream_gets_so_many_calls_at_once_and_no_more(python: Path, tmp_path: Path, allowed: str, most: int) -> None:
    together: list[int] = []
    settings = {"MAX_BATCH_SIZE": "1", "UPSTREAM_BATCH_LIMIT": "1", "MAX_UPSTREAM_CALLS": allowed}
    with (
        odd_upstream(200, b"[[1.0]]", 0.5, together) as url,
        running(python, ServicePlan(url, settings), tmp_path) as found,
        ThreadPoolExecutor(6) as pool,
    ):
        assert list(pool.map(lambda text: embed(found.url, text), "abcdef")) == [[[1.0]]] * 6
    assert max(together) == most


def test_a_full_queue_says_when_to_come_back(python: Path, tmp_path: Path) -> None:
    settings = {**FIXED, "MAX_QUEUE": "2", "MAX_WAIT_TIME": "1500"}
    with running(python, ServicePlan({}, settings), tmp_path) as found, ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(embed, found.url, text) for text in "ab"]
        time.sleep(0.5)
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(found.url).netloc, timeout=30)
        connection.request("POST", "/embed", b'{"inputs": "c"}', {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 429
        assert response.headers["Retry-After"] == "1"
        assert json.loads(response.read())["error_type"] == "Overloaded"
        connection.close()
        assert all(len(future.result()) == 1 for future in waiting)


def test_a_terminated_proxy_answers_what_it_has_accepted(python: Path, tmp_path: Path) -> None:
    settings = {**FIXED, "MAX_WAIT_TIME": "1500"}
    with running(python, ServicePlan({}, settings), tmp_path) as found, ThreadPoolExecutor(5) as pool:
        waiting = [pool.submit(embed, found.url, text) for text in "abcde"]
        time.sleep(0.5)
        os.kill(found.pids["proxy"], signal.SIGTERM)
        assert all(len(future.result()) == 1 for future in waiting)


def test_services_do_not_outlive_a_harness_that_is_killed(python: Path, tmp_path: Path) -> None:
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\nfrom harness.scenarios import ServicePlan\nfrom harness.services import running\n"
        "with running(Path(sys.argv[2]), ServicePlan({}, {}), Path(sys.argv[3])) as up:\n"
        "    print(*up.pids.values(), flush=True)\n    time.sleep(600)\n"
    )
    import sys

    import psutil

    harness = subprocess.Popen(
        [sys.executable, "-c", program, str(ROOT), str(python), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert harness.stdout is not None
    pids = [int(pid) for pid in harness.stdout.readline().split()]
    assert len(pids) == 2
    harness.kill()
    harness.wait()
    harness.stdout.close()
    end = time.monotonic() + 20
    while any(psutil.pid_exists(pid) for pid in pids):
        assert time.monotonic() < end, "still there"
        time.sleep(0.05)

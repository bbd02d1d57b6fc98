"""The embedding service and its proxy as their clients meet them: over HTTP."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workers.embedding.proxied import (
    Served,
    ask,
    embed,
    served,
)  # fmt: skip

pytestmark = pytest.mark.integration


def close_to(expected: Any) -> Any:
    """Vectors that differ from these by rounding at most."""
    return [pytest.approx(vector, abs=1e-4) for vector in expected]


@pytest.fixture(scope="module")
def up(services_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An embedder, and an adaptive proxy before it."""
    logs = tmp_path_factory.mktemp("logs")
    with served(services_python, logs, {"MODE": "adaptive"}) as found:
        yield found


def test_vectors_are_the_models_own(up: Served, services_python: Path) -> None:
    texts = ["What is Vector Search?", "Hello, world!", "a", "ünïcödé ✓", "x " * 300]
    program = (
        "import json, os, sys, wordllama; "
        "folder = os.path.dirname(wordllama.__file__); "
        "m = wordllama.WordLlama.load(cache_dir=folder, dim=256, disable_download=True); "
        "print(json.dumps([m.embed([t], norm=True)[0].tolist() for t in json.load(sys.stdin)]))"
    )
    done = subprocess.run(
        [services_python, "-c", program],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    expected = json.loads(done.stdout)
    assert len(expected[0]) == 256
    for url in up.urls:
        assert embed(url, *texts) == close_to(expected)
        assert ask(url, {"inputs": texts[0]}) == (200, close_to(expected[:1])), (
            "a single string is a list of one"
        )
        assert sum(x * x for x in embed(url, texts[0], normalize=False)[0]) != pytest.approx(
            1, abs=0.01
        )


def test_token_ids_stand_for_their_text_and_what_has_too_many_is_refused_or_cut(up: Served) -> None:
    search, hello = [1724, 338, 16510, 11856, 29973], [15043, 29892, 3186, 29991]
    expected = embed(up.urls[0], "What is Vector Search?", "Hello, world!")
    for url in up.urls:
        assert ask(url, {"inputs": search}) == (200, close_to(expected[:1]))
        assert ask(url, {"inputs": [search, hello]}) == (200, close_to(expected))
        mixed = [search, "Hello, world!"]
        assert ask(url, {"inputs": mixed}) == (200, close_to(expected))
        status, said = ask(url, {"inputs": search * 200})
        assert (status, said["error_type"]) == (413, "Validation")
        assert "less than 512 tokens" in said["error"]
        assert ask(url, {"inputs": ["word " * 2000]})[0] == 413
        assert len(embed(url, "word " * 2000, truncate=True)) == 1


def test_the_proxy_splits_and_joins_what_is_too_much_for_one_call(up: Served) -> None:
    texts = [f"text number {number}" for number in range(100)]
    status, said = ask(up.urls[0], {"inputs": texts})
    assert (status, said["error_type"]) == (413, "Validation")
    one_by_one = [embed(up.urls[0], text)[0] for text in texts]
    assert embed(up.url, *texts) == close_to(one_by_one)


BAD: dict[int, list[Any]] = {
    400: [
        b"", b"nonsense", {"inputs": [[]]}, {"inputs": ["a", []]}, {"inputs": []}, {"inputs": ""},
        {"inputs": ["a", ""]},
    ],
    413: [{"inputs": ["x" * 2_100_000]}],
    422: [
        {}, [], *(
            {"inputs": inputs}
            for inputs in (
                7, ["a", 7], [["a"]], [1, "a"], [1, [2]], [-1], [2**32], [True], None,
            )
        ),
        {"inputs": "a", "truncate": "maybe"},
    ],
}  # fmt: skip
"""Bodies by the status that they get."""


@pytest.mark.parametrize("expected", BAD)
def test_bad_bodies_get_an_error_in_the_services_shape(up: Served, expected: int) -> None:
    for url in up.urls:
        for body in BAD[expected]:
            status, said = ask(url, body)
            assert (status, set(said)) == (expected, {"error", "error_type"}), (body, said)
        assert ask(url, {"inputs": ["a"]}, kind="text/plain")[0] == 415
    assert len(embed(up.url, "still there")) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4)
    ),
    max_leaves=8,
)
REQUESTS = st.dictionaries(
    st.sampled_from(["inputs", "truncate", "normalize", "else"]), JSON, max_size=4
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200)
    | REQUESTS.map(lambda value: json.dumps(value).encode())
    | JSON.map(lambda v: json.dumps(v).encode())
)
def test_no_body_whatever_brings_an_error_of_the_servers(up: Served, body: bytes) -> None:
    answers = [ask(url, body) for url in up.urls]
    assert all(status < 500 for status, _ in answers), answers
    assert answers[0][0] == answers[1][0], "a client cannot tell the proxy from the service"


def test_both_describe_themselves_and_listen_on_the_loopback_alone(up: Served) -> None:
    for url, pid in zip(up.urls, up.pids, strict=True):
        for path, status in {"/health": 200, "/docs": 200, "/nothing": 404}.items():
            assert ask(url, b"", path, "GET")[0] == status
        _, described = ask(url, b"", "/openapi.json", "GET")
        assert "inputs" in json.dumps(described["paths"]["/embed"]["post"]["requestBody"])
        process = psutil.Process(pid)
        listening = {
            connection.laddr.ip
            for one in (process, *process.children(recursive=True))
            for connection in one.net_connections()
            if connection.status == psutil.CONN_LISTEN
        }
        assert listening == {"127.0.0.1"}
    _, info = ask(up.urls[0], b"", "/info", "GET")
    assert info["max_client_batch_size"] == 32
    _, metrics = ask(up.url, b"", "/metrics", "GET")
    for name in (b"proxy_batch_requests_bucket", b"proxy_upstream_seconds_sum"):
        assert name in metrics

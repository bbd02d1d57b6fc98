"""The embedding service and its proxy as their clients meet them: over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.workers.embedding.proxied import Served, ask, embed, served

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


def test_token_ids_stand_for_their_text_and_what_has_too_many_is_refused_or_cut(up: Served) -> None:
    search, hello = [1724, 338, 16510, 11856, 29973], [15043, 29892, 3186, 29991]
    expected = embed(up.urls[0], "What is Vector Search?", "Hello, world!")
    assert [sum(x * x for x in vector) for vector in expected] == [pytest.approx(1)] * 2
    for url in up.urls:
        assert ask(url, {"inputs": "What is Vector Search?"}) == (200, close_to(expected[:1]))
        plain = embed(url, "Hello, world!", normalize=False)[0]
        assert sum(x * x for x in plain) != pytest.approx(1, abs=0.01)
        assert ask(url, {"inputs": search}) == (200, close_to(expected[:1]))
        assert ask(url, {"inputs": [search, hello]}) == (200, close_to(expected))
        mixed = [search, "Hello, world!"]
        assert ask(url, {"inputs": mixed}) == (200, close_to(expected))
        status, said = ask(url, {"inputs": search * 200})
        assert (status, said["error_type"]) == (413, "Validation")
        assert "less than 512 tokens" in said["error"]
        assert ask(url, {"inputs": ["word " * 2000]})[0] == 413
        assert len(embed(url, "word " * 2000, truncate=True)) == 1


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


def test_both_describe_themselves_and_listen_on_the_loopback_alone(up: Served) -> None:
    for url, pid in zip(up.urls, up.pids, strict=True):
        assert ask(url, b"", "/health", "GET")[0] == 200
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
    assert ask(up.urls[0], {"inputs": ["a"] * 33})[0] == 413
    _, metrics = ask(up.url, b"", "/metrics", "GET")
    for name in (b"proxy_batch_requests_bucket", b"proxy_upstream_seconds_sum"):
        assert name in metrics

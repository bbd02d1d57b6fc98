"""The embedding service and its proxy as their clients meet them: over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.workers.embedding.proxied import Served, ask, served

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def up(services_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An embedder, and an adaptive proxy before it."""
    logs = tmp_path_factory.mktemp("logs")
    with served(services_python, logs, {"MODE": "adaptive"}) as found:
        yield found


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
    assert ask(up.url, {"inputs": "still there"})[0] == 200


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

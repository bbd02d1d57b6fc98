"""The embedding service and its proxy as their clients meet them: over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

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

"""The proxy before an upstream that misbehaves, and clients that do."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.waiting import until
from tests.workers.embedding import upstreams
from tests.workers.embedding.conftest import Before, Serve
from tests.workers.embedding.proxied import (
    TOGETHER,
    ask,
    ask_together,
    begin,
    counted,
    exchange_together,
)  # fmt: skip
from tests.workers.embedding.upstreams import Call, Upstream, vector

pytestmark = pytest.mark.integration


OPTIONS: list[dict[str, Any]] = [
    {},
    {"normalize": False},
    {"truncate": None},
    {"truncation_direction": "Left"},
    {"truncation_direction": "Left", "truncate": True},
    {"unknown": {"deep": [1, 2.5, None, "ü"]}},
    {"unknown": 2**70},
]


TOKENS: list[Any] = [[101, 2023], [[101, 2**32 - 1], [0]], "a", [[8, 9], "c", [7]]]
"""Texts, and ids of tokens that stand for texts."""


def test_every_option_and_token_reaches_the_upstream_as_given_and_only_equals_travel_together(
    fours: Before,
) -> None:
    url, upstream = fours
    bodies = [{"inputs": [f"text {name}"], **options} for name in "abcd" for options in OPTIONS]
    bodies += [{"inputs": inputs} for inputs in TOKENS]
    for body, answer in zip(bodies, ask_together(url, bodies), strict=True):
        texts, options = upstreams.split(json.dumps(body).encode())
        assert answer == (200, [vector(text, options) for text in texts])
    # Those that agree in all options share a call; of one kind there are eight.
    assert len(upstream.bodies) == len(OPTIONS) + 1


BUSY = {"error": "Model is overloaded", "error_type": "Overloaded"}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b"[[1.0, 2.0]]", (424, "1 vectors for 4 inputs")),
        (200, b"[[1.0], [2.0], [3.0], [4.0], [5.0]]", (424, "5 vectors for 4 inputs")),
        (200, b'[["a"], [2.0], [3.0], [4.0]]', (424, "or no vectors")),
        (200, b'{"a": 1}', (424, "dict vectors for 4 inputs")),
        (200, b"[[1.0], [2", (424, "not JSON")),
        (500, b"boom", (424, "status 500")),
        (429, BUSY, (429, "overloaded")),
        (503, b"no shape", (503, "status 503")),
        (None, None, (503, "closed the connection")),
    ],
)
def test_a_misbehaving_upstream_is_a_proper_error_for_all_who_wait(
    fours: Before, status: int | None, body: object, expected: tuple[int, str]
) -> None:
    url, upstream = fours

    def misbehave(call: Call) -> None:
        if status is None:
            call.close_connection = True
        else:
            call.answer(body, status, Retry_After="17")

    upstream.behave = misbehave
    for response in exchange_together(url, [{"inputs": text} for text in "abcd"]):
        assert (response.status, expected[1] in response.data["error"]) == (expected[0], True)
        assert set(response.data) == {"error", "error_type"}
        # When the upstream says to come back, clients hear it.
        assert response.headers["Retry-After"] == (None if status in (None, 200) else "17")
    assert len(upstream.bodies) == (2 if status is None else 1)


def test_clients_that_go_while_their_batch_waits_for_its_turn_do_not_go_upstream(
    serve: Serve, upstream: Upstream
) -> None:
    gate = threading.Event()

    def wait(call: Call) -> None:
        gate.wait()
        call.answer()

    upstream.behave = wait
    found = serve({**TOGETHER, "MAX_BATCH_SIZE": "2", "MAX_UPSTREAM_CALLS": "1"})
    with ThreadPoolExecutor(4) as pool:
        first = [pool.submit(ask, found.url, {"inputs": text}) for text in "ab"]
        until(lambda: len(upstream.bodies) == 1)
        gone = begin(found.url, b'{"inputs": "gone"}')
        living = pool.submit(ask, found.url, {"inputs": "alive"})
        until(lambda: counted(found.url, "proxy_wait_seconds_count") == 4)
        gone.close()
        until(lambda: counted(found.url, "gone") == 1)
        gate.set()
        assert [future.result()[0] for future in [*first, living]] == [200] * 3
    assert sorted(upstream.texts) == ["a", "alive", "b"]

"""The proxy before an upstream that misbehaves, and clients that do."""

import asyncio
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.services import upstreams
from tests.services.asking import ask
from tests.services.proxied import LONG, TOGETHER, answers, ask_together, begin, proxy
from tests.services.test_proxy import queue_length
from tests.services.upstreams import Call, Upstream, vector
from tests.waiting import until

pytestmark = pytest.mark.integration


OPTIONS: list[dict[str, Any]] = [
    {},
    {"normalize": False},
    {"normalize": True},
    {"truncate": True},
    {"truncate": None},
    {"prompt_name": "query"},
    {"prompt_name": "passage"},
    {"dimensions": 64},
    {"truncation_direction": "Left"},
    {"truncation_direction": "Left", "truncate": True},
    {"unknown": {"deep": [1, 2.5, None, "ü"]}},
    {"unknown": 2**70},
]


def test_every_option_reaches_the_upstream_as_given_and_only_equals_travel_together(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    bodies = [{"inputs": [f"text {number}"], **options} for number in "ab" for options in OPTIONS]
    with proxy(services_python, tmp_path, upstream, TOGETHER) as found:
        answers = ask_together(found.url, bodies)
    for body, answer in zip(bodies, answers, strict=True):
        texts, options = upstreams.split(json.dumps(body).encode())
        assert answer == (200, [vector(text, options) for text in texts])
    assert len(upstream.bodies) == len(OPTIONS), "those that agree in all share a call"


def test_token_ids_reach_the_upstream_as_given_and_share_a_call_with_texts(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    inputs: list[Any] = [[101, 2023], [[101, 2**32 - 1], [0]], "a", ["b", [7]], [[8, 9], "c"]]
    bodies = [{"inputs": each} for each in inputs]
    with proxy(services_python, tmp_path, upstream, TOGETHER) as found:
        answers = ask_together(found.url, bodies)
    each_texts = [[[101, 2023]], inputs[1], ["a"], *inputs[3:]]
    for texts, answer in zip(each_texts, answers, strict=True):
        assert answer == (200, [vector(text, {}) for text in texts])
    assert len(upstream.bodies) == 1


def test_an_upstream_that_does_not_know_token_ids_refuses_those_alone(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    async def know_texts_only(call: Call) -> None:
        texts, _ = upstreams.split(call.body)
        if all(isinstance(text, str) for text in texts):
            await call.answer()
        else:
            await call.answer(b"inputs: data did not match any variant", 422)

    upstream.behave = know_texts_only
    with proxy(services_python, tmp_path, upstream, TOGETHER) as found:
        texts, ids = ask_together(found.url, [{"inputs": ["a"]}, {"inputs": [1, 2]}])
    assert texts == (200, [vector("a", {})])
    assert ids[0] == 422
    assert "did not match any variant" in ids[1]["error"]


def test_a_limit_that_is_set_holds_whatever_the_upstream_says(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    settings = {"UPSTREAM_BATCH_LIMIT": "3"}
    with proxy(services_python, tmp_path, upstream, settings) as found:
        assert ask(found.url, {"inputs": list("abcdefgh")})[0] == 200
    assert sorted(len(upstreams.split(body)[0]) for body in upstream.bodies) == [2, 3, 3]


def test_an_upstream_that_does_not_know_its_limit_yet_is_asked_again(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    async def not_yet(call: Call) -> None:
        await call.answer({"error": "loading", "error_type": "Unhealthy"}, 503)

    upstream.inform = not_yet
    texts = [str(number) for number in range(10)]
    with proxy(services_python, tmp_path, upstream, {"MODE": "adaptive"}) as found:
        assert ask(found.url, {"inputs": texts})[0] == 200
        upstream.inform = lambda call: call.answer({"max_client_batch_size": 5})

        def is_split() -> bool:
            upstream.bodies.clear()
            assert ask(found.url, {"inputs": texts})[0] == 200
            return len(upstream.bodies) == 2

        until(is_split)


def test_a_hanging_upstream_delays_neither_the_start_nor_the_first_answer_for_long(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    async def hang(_call: Call) -> None:
        await asyncio.sleep(600)

    upstream.inform = hang
    begun = time.monotonic()
    with proxy(services_python, tmp_path, upstream, {"MODE": "adaptive"}) as found:
        assert ask(found.url, {"inputs": "a"}) == (200, [vector("a", {})])
    # It would be UPSTREAM_TIMEOUT, 30 s, before anything is served.
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("half", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n[[1.0"])
def test_a_kept_connection_that_is_closed_costs_nobody_anything(
    services_python: Path, tmp_path: Path, upstream: Upstream, half: bytes
) -> None:
    async def once(call: Call) -> None:
        if call.on_connection:
            call.writer.write(half)
            call.close()
        else:
            await call.answer()

    upstream.behave = once
    with proxy(services_python, tmp_path, upstream, TOGETHER) as found:
        for _ in range(5):
            answers = ask_together(found.url, [{"inputs": text} for text in "abcd"])
            assert answers == [(200, [vector(text, {})]) for text in "abcd"]


def test_an_upstream_that_closes_every_connection_is_asked_twice_and_named(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    async def close(call: Call) -> None:
        call.close()

    upstream.behave = close
    with proxy(services_python, tmp_path, upstream, {"MODE": "adaptive"}) as found:
        status, said = ask(found.url, {"inputs": "a"})
    assert (status, said["error_type"]) == (503, "Unhealthy")
    assert "closed the connection" in said["error"]
    assert upstream.asked == 2


def test_clients_that_went_away_leave_their_place_and_do_not_go_upstream(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    with proxy(services_python, tmp_path, upstream, {**LONG, "MAX_QUEUE": "5"}) as found:
        gone = [begin(found.url, b'{"inputs": "gone %d"}' % number) for number in range(5)]
        until(lambda: queue_length(found.url) == 5)
        for client in gone:
            client.close()
        until(lambda: queue_length(found.url) == 0)
        with ThreadPoolExecutor(1) as pool:
            living = pool.submit(ask, found.url, {"inputs": "alive"})
            until(lambda: queue_length(found.url) == 1)
            os.kill(found.pid, signal.SIGTERM)
            assert living.result() == (200, [vector("alive", {})])
    assert upstream.texts == ["alive"]


def test_clients_that_go_while_their_batch_waits_for_its_turn_do_not_go_upstream(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    open_gate = asyncio.Event()

    async def wait(call: Call) -> None:
        await open_gate.wait()
        await call.answer()

    upstream.behave = wait
    settings = {**TOGETHER, "MAX_BATCH_SIZE": "2", "MAX_UPSTREAM_CALLS": "1"}
    with (
        proxy(services_python, tmp_path, upstream, settings) as found,
        ThreadPoolExecutor(4) as pool,
    ):
        first = [pool.submit(ask, found.url, {"inputs": text}) for text in "ab"]
        until(lambda: upstream.asked == 1)
        gone = begin(found.url, b'{"inputs": "gone"}')
        living = pool.submit(ask, found.url, {"inputs": "alive"})
        until(lambda: answers(found.url, "left") == 4)
        gone.close()
        until(lambda: answers(found.url, "gone") == 1)
        open_gate._loop.call_soon_threadsafe(open_gate.set)  # type: ignore[attr-defined]
        assert [future.result()[0] for future in [*first, living]] == [200] * 3
    assert sorted(upstream.texts) == ["a", "alive", "b"]

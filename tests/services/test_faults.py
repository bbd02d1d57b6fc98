"""The proxy before an upstream that misbehaves, and clients that do."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks import upstreams
from benchmarks.upstreams import Call, Upstream, vector
from tests.services.asking import ask, exchange
from tests.services.plans import plan
from tests.services.test_proxy import queue_length
from tests.waiting import until
from waitbench.execution.services import Server, running
from waitbench.system.places import ROOT

pytestmark = pytest.mark.integration

TOGETHER = {"MODE": "fixed", "MAX_BATCH_SIZE": "8", "MAX_WAIT_TIME": "200"}
LONG = {**TOGETHER, "MAX_WAIT_TIME": "60000"}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with upstreams.running(Upstream()) as found:
        yield found


@contextmanager
def proxy(
    python: Path, logs: Path, upstream: Upstream, settings: Mapping[str, str]
) -> Iterator[Server]:
    with running(python, plan(settings, url=upstream.url), logs) as found:
        yield found.servers[0]


def ask_together(url: str, bodies: list[dict[str, Any]]) -> list[tuple[int, Any]]:
    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(lambda body: ask(url, body), bodies))


def begin(url: str, body: bytes, *, sent: int | None = None) -> socket.socket:
    """A client that has sent its request, or the beginning of the body."""
    parts = urllib.parse.urlsplit(url)
    client = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30)
    head = f"POST /embed HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
    client.sendall(head.encode() + body[:sent])
    return client


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
        until(lambda: _answers(found.url, "left") == 4)
        gone.close()
        until(lambda: _answers(found.url, "gone") == 1)
        open_gate._loop.call_soon_threadsafe(open_gate.set)  # type: ignore[attr-defined]
        assert [future.result()[0] for future in [*first, living]] == [200] * 3
    assert sorted(upstream.texts) == ["a", "alive", "b"]


def _answers(url: str, status: str) -> float:
    """How many requests ended so; ``left``: have left in a batch. By the proxy's own count."""
    wanted = (
        "proxy_wait_seconds_count "
        if status == "left"
        else f'proxy_answers_total{{status="{status}"}} '
    )
    lines = ask(url, b"", "/metrics", "GET")[1].decode().splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith(wanted))


def test_half_a_body_is_not_waited_for_for_ever(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    settings = {**TOGETHER, "READ_TIMEOUT": "0.5"}
    with proxy(services_python, tmp_path, upstream, settings) as found:
        slow = begin(found.url, b'{"inputs": "never whole"}', sent=10)
        gone = begin(found.url, b'{"inputs": "never whole"}', sent=10)
        gone.close()
        answer = slow.makefile("rb").read()
        slow.close()
        until(lambda: _answers(found.url, "gone") == 1)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not come within 0.5 s" in answer
    assert "Traceback" not in (tmp_path / "service-proxy.log").read_text()


def test_many_half_sent_bodies_are_refused_before_they_fill_the_memory(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    body = b'{"inputs": "%b"}' % (b"x" * 1_900_000)
    with proxy(services_python, tmp_path, upstream, {"MODE": "adaptive"}) as found:
        process = psutil.Process(found.pid)
        before = process.memory_info().rss
        clients = [begin(found.url, body, sent=1_800_000) for _ in range(60)]
        until(lambda: _answers(found.url, "429") > 0)
        assert process.memory_info().rss - before < 150e6
        assert ask(found.url, {"inputs": "still there"})[0] in (200, 429)
        for client in clients:
            client.close()
        until(lambda: ask(found.url, {"inputs": "again"})[0] == 200)


def test_a_batch_is_no_larger_than_the_upstream_takes_in_one_body(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    async def limited(call: Call) -> None:
        if len(call.body) > 2_000_000:
            await call.answer(b"length limit exceeded", 413)
        else:
            await call.answer()

    upstream.behave = limited
    bodies = [{"inputs": f"{number}{'x' * 400_000}"} for number in range(8)]
    with proxy(services_python, tmp_path, upstream, TOGETHER) as found:
        answers = ask_together(found.url, bodies)
    assert answers == [(200, [vector(body["inputs"], {})]) for body in bodies]
    assert upstream.asked == 2, "four in each: none had to be refused first"


def test_a_smaller_limit_of_the_upstreams_costs_only_those_that_it_refuses_alone(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    async def limited(call: Call) -> None:
        if len(call.body) > 1000:
            await call.answer(b"length limit exceeded", 413)
        else:
            await call.answer()

    upstream.behave = limited
    texts = ["x" * length for length in (300, 301, 302, 303, 1000)]
    with proxy(services_python, tmp_path, upstream, TOGETHER) as found:
        answers = ask_together(found.url, [{"inputs": text} for text in texts])
    assert answers[:4] == [(200, [vector(text, {})]) for text in texts[:4]]
    assert answers[4][0] == 413
    assert "length limit exceeded" in answers[4][1]["error"]


def test_a_terminated_proxy_does_not_wait_for_company(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    with (
        proxy(services_python, tmp_path, upstream, LONG) as found,
        ThreadPoolExecutor(1) as pool,
    ):
        waiting = pool.submit(ask, found.url, {"inputs": "a"})
        until(lambda: queue_length(found.url) == 1)
        os.kill(found.pid, signal.SIGTERM)
        # By the rule it would take a minute; the connection's time limit is half of that.
        assert waiting.result() == (200, [vector("a", {})])


def test_the_queue_is_one_for_all_options(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    with (
        proxy(services_python, tmp_path, upstream, {**LONG, "MAX_QUEUE": "2"}) as found,
        ThreadPoolExecutor(2) as pool,
    ):
        bodies = [{"inputs": "a", "normalize": normalize} for normalize in (True, False)]
        waiting = [pool.submit(ask, found.url, body) for body in bodies]
        until(lambda: queue_length(found.url) == 2)
        assert ask(found.url, {"inputs": "a", "truncate": True})[0] == 429
        os.kill(found.pid, signal.SIGTERM)
        assert [future.result()[0] for future in waiting] == [200, 200]


@pytest.mark.parametrize(
    ("status", "said"),
    [(429, {"error": "Model is overloaded", "error_type": "Overloaded"}), (503, "no shape")],
)
def test_when_the_upstream_says_to_come_back_clients_hear_it(
    services_python: Path, tmp_path: Path, upstream: Upstream, status: int, said: object
) -> None:
    upstream.behave = lambda call: call.answer(said, status, Retry_After="17")
    with proxy(services_python, tmp_path, upstream, {"MODE": "adaptive"}) as found:
        response = exchange(found.url, {"inputs": "a"})
    assert (response.status, response.headers["Retry-After"]) == (status, "17")


def test_who_waits_for_a_turn_in_vain_is_not_told_that_the_upstream_did_not_answer(
    services_python: Path, tmp_path: Path, upstream: Upstream
) -> None:
    async def slow(call: Call) -> None:
        await asyncio.sleep(600)
        await call.answer()

    upstream.behave = slow
    settings = {
        "MODE": "adaptive",
        "MAX_BATCH_SIZE": "1",
        "MAX_UPSTREAM_CALLS": "1",
        "UPSTREAM_TIMEOUT": "1",
    }
    with proxy(services_python, tmp_path, upstream, settings) as found:
        answers = sorted(
            (status, said["error"])
            for status, said in ask_together(found.url, [{"inputs": text} for text in "abc"])
        )
    assert answers[0] == (429, "the upstream was busy with other calls for 1 s")
    assert answers[-1] == (503, "the upstream did not answer within 1 s")


def test_levels_of_logging_have_their_usual_names(services_python: Path) -> None:
    program = (
        "import os\n"
        "from services import proxy, web\n"
        "for name in ['WARN', 'Trace', 'FATAL', 'error', 'loud']:\n"
        "    os.environ['LOG_LEVEL'] = name\n"
        "    print(web.load_settings(proxy.ProxySettings).log_level)\n"
    )
    done = subprocess.run(
        [services_python, "-c", program],
        env={"PYTHONPATH": str(ROOT)},
        cwd=services_python.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["warning", "trace", "critical", "error"]
    assert done.returncode == 2
    assert done.stderr.startswith("LOG_LEVEL=loud: Value error, is not one of: critical, error")

"""The proxy's limits: bodies, batches, its queue, turns, and its end."""

import asyncio
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from tests.services.asking import ask, exchange
from tests.services.proxied import LONG, TOGETHER, answers, ask_together, begin, proxy
from tests.services.test_proxy import queue_length
from tests.services.upstreams import Call, Upstream, vector
from tests.waiting import until
from waitbench.system.places import ROOT


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
        until(lambda: answers(found.url, "gone") == 1)
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
        until(lambda: answers(found.url, "429") > 0)
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

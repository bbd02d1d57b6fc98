"""The proxy's limits; and its end, and that of what is behind it."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from tests.waiting import until
from tests.workers.embedding.conftest import Before, Serve
from tests.workers.embedding.proxied import (
    LONG,
    ask,
    ask_together,
    begin,
    counted,
    exchange,
)  # fmt: skip
from tests.workers.embedding.upstreams import Call, Upstream, hang, limited, split, vector

pytestmark = pytest.mark.integration


def test_many_half_sent_bodies_are_refused_before_they_fill_the_memory(serve: Serve) -> None:
    body = b'{"inputs": "%b"}' % (b"x" * 1_900_000)
    found = serve({"MODE": "adaptive"})
    process = psutil.Process(found.pids[0])
    before = process.memory_info().rss
    clients = [begin(found.url, body, sent=1_800_000) for _ in range(60)]
    until(lambda: counted(found.url, "429") > 0)
    assert process.memory_info().rss - before < 150e6
    assert ask(found.url, {"inputs": "still there"})[0] in (200, 429)
    for client in clients:
        client.close()
    until(lambda: ask(found.url, {"inputs": "again"})[0] == 200)


def test_a_smaller_limit_of_the_upstreams_costs_only_those_that_it_refuses_alone(
    fours: Before,
) -> None:
    url, upstream = fours
    upstream.behave = limited(1000)
    texts = ["x" * length for length in (300, 301, 302, 1000)]
    answers = ask_together(url, [{"inputs": text} for text in texts])
    assert answers[:3] == [(200, [vector(text, {})]) for text in texts[:3]]
    assert (answers[3][0], "length limit exceeded" in answers[3][1]["error"]) == (413, True)


def test_a_full_queue_says_when_to_come_back_and_a_terminated_proxy_waits_for_no_company(
    serve: Serve,
) -> None:
    found = serve({**LONG, "MAX_QUEUE": "2"})
    with ThreadPoolExecutor(2) as pool:
        bodies = [{"inputs": "a", "normalize": normalize} for normalize in (True, False)]
        waiting = [pool.submit(ask, found.url, body) for body in bodies]
        until(lambda: counted(found.url, "proxy_queue_length") == 2)
        # The queue is one for all options.
        refused = exchange(found.url, {"inputs": "a", "truncate": True})
        assert (refused.status, refused.data["error_type"]) == (429, "Overloaded")
        assert int(refused.headers["Retry-After"]) >= 1
        os.kill(found.pids[0], signal.SIGTERM)
        # By the rule it would take a minute; the connection's time limit is half of that.
        for body, answer in zip(bodies, waiting, strict=True):
            options = {"normalize": body["normalize"]}
            assert answer.result() == (200, [vector("a", options)])


def test_so_many_calls_are_made_at_once_and_who_waits_in_vain_is_told_so(
    serve: Serve, upstream: Upstream
) -> None:
    def wait_for_company(call: Call) -> None:
        while upstream.most_together < 2:
            time.sleep(0.001)
        call.answer()

    upstream.behave = wait_for_company
    one = {"MAX_BATCH_SIZE": "1", "MAX_UPSTREAM_CALLS": "2", "UPSTREAM_TIMEOUT": "1"}
    found = serve({"MODE": "adaptive", "UPSTREAM_BATCH_LIMIT": "2", **one})
    assert ask(found.url, {"inputs": list("abcdef")}) == (
        200,
        [vector(text, {}) for text in "abcdef"],
    )
    assert sorted(len(split(body)[0]) for body in upstream.bodies) == [2, 2, 2]
    assert upstream.most_together == 2
    upstream.behave = hang
    said = sorted(
        (status, said["error"])
        for status, said in ask_together(found.url, [{"inputs": text} for text in "abcdefgh"])
    )
    assert said[0] == (429, "the upstream was busy with other calls for 1 s")
    assert said[-1] == (503, "the upstream did not answer within 1 s")

"""The proxy's limits; and its end, and that of what is behind it."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.waiting import until
from tests.workers.embedding.conftest import Before, Serve
from tests.workers.embedding.proxied import (
    LONG,
    ask,
    ask_together,
    counted,
    exchange,
)  # fmt: skip
from tests.workers.embedding.upstreams import limited, vector

pytestmark = pytest.mark.integration


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

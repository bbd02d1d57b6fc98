"""Our client of a service that is not there, fails, is something else, or answers wrongly."""

import asyncio
import re

import client
import pytest
import traffic
from load import figures
from traffic import KINDS, Load, Questions

from tests.workers.embedding.upstreams import Behaviour, Call, Upstream
from waitbench.engines.worker import file as worker_file
from waitbench.system.places import WORKERS

RIGHT = [[1.0, 2.0]]
QUESTIONS = Questions([["a"]] * KINDS, [RIGHT] * KINDS)


def put(upstream: Upstream, behave: Behaviour, connections: int, duration_s: float) -> Load:
    """What comes of a load on a service that behaves so."""
    upstream.behave = behave
    return client.put(upstream.url, QUESTIONS, connections, duration_s)


def answering(vectors: object, status: int = 200) -> Behaviour:
    return lambda call: call.answer(vectors, status)


@pytest.fixture(autouse=True)
def one_answer_in_three_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_CHECKED_SHARE", 3)


def test_right_answers_are_timed_and_a_part_of_them_is_checked(upstream: Upstream) -> None:
    load = put(upstream, answering(RIGHT), 2, 0.5)
    assert set(load.statuses) == {"200"}
    assert load.answered == len(load.latencies_s) > 3
    assert load.checked == load.answered // 3
    assert load.body_bytes == load.answered * len(b"[[1.0, 2.0]]")
    assert load.wrong == 0


def test_vectors_of_other_texts_are_counted_as_wrong(upstream: Upstream) -> None:
    load = put(upstream, answering([[2.0, 1.0]]), 2, 0.5)
    assert load.wrong == load.checked > 0


def test_the_rate_is_that_of_the_load_without_what_came_after_it(upstream: Upstream) -> None:
    async def answer_late(call: Call) -> None:
        await asyncio.sleep(0.6)
        await call.answer(RIGHT)

    load = put(upstream, answer_late, 3, 0.9)
    assert load.duration_s == 0.9
    assert 0 < load.late == 3 <= load.answered, "each client's last request is under way then"
    assert 0 < load.drain_s < client.OVERTIME_S
    assert load.requests_per_s == pytest.approx((load.answered - 3) / 0.9)
    assert load.late_bytes == 3 * len(b"[[1.0, 2.0]]")


def test_errors_of_the_service_are_counted_by_status_and_not_timed(upstream: Upstream) -> None:
    load = put(upstream, answering({"error": "busy"}, 503), 2, 0.2)
    assert set(load.statuses) == {"503"}
    assert (load.latencies_s, load.success_rate) == ([], 0.0)


def test_a_service_that_keeps_no_connection_is_connected_to_again_without_an_error(
    upstream: Upstream,
) -> None:
    async def answer_once(call: Call) -> None:
        call.writer.write(b"HTTP/1.0 200 OK\r\n\r\n[[1.0, 2.0]]")
        call.close()

    load = put(upstream, answer_once, 1, 0.3)
    assert set(load.statuses) == {"200"}
    assert load.answered > 3
    assert load.wrong == 0


@pytest.mark.parametrize("answer", [(b"", 404), ([1], 200), (b"hello", 200)])
def test_something_else_that_answers_is_named(
    answer: tuple[object, int], upstream: Upstream
) -> None:
    upstream.inform = answering(*answer)
    said = re.escape(f"{upstream.url}/info does not answer as an embedding service does")
    with pytest.raises(traffic.ServiceError, match=said):
        traffic.describe(upstream.url)


def test_a_service_that_is_not_there_is_named() -> None:
    with pytest.raises(traffic.ServiceError, match=r"http://127\.0\.0\.1:9/info does not answer"):
        traffic.describe("http://127.0.0.1:9")
    with pytest.raises(traffic.ServiceError, match=r"http://127\.0\.0\.1:9 does not embed"):
        traffic.embed("http://127.0.0.1:9", ["a"])


def test_the_calls_of_a_proxy_are_counted_by_itself(upstream: Upstream) -> None:
    upstream.inform = answering(b"# HELP\nproxy_upstream_seconds_count 12.0\n")
    assert traffic.upstream_calls(upstream.url) == 12


def a_load() -> Load:
    load = Load(2.0)
    for late in (False, False, False, True):
        load.count_answer(0.5, 100, is_late=late)
    load.count_failure("503", "busy")
    return load


def test_the_rate_is_of_answers_in_time_and_failures_lower_the_success() -> None:
    found = figures(a_load(), 2)
    assert set(found) == set(worker_file.read(WORKERS / "embedding" / "load.toml").metrics)
    assert found["rate"] == 1.5
    assert found["request"] == [0.5] * 4
    assert found["size"] == 100
    assert found["success"] == 80
    assert found["requests-per-call"] == 2


def test_wrong_answers_and_no_answers_are_no_measurement() -> None:
    load = a_load()
    load.checked = load.wrong = 1
    with pytest.raises(SystemExit, match="1 of 1 answers were wrong; failed: 1 × 503: busy"):
        figures(load, 2)
    with pytest.raises(SystemExit, match="0 of 0"):
        figures(Load(2.0), 0)

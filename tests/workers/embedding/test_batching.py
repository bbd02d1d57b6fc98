"""Gathering requests: when a batch leaves, who gets which vectors, who gets which error."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from batching import Batcher, Board, Full, Guilty, Seen
from rule import Mode, Rule

from tests.workers.embedding.batched import BOTH, Upstream, expected, run, settle


@BOTH
def test_each_request_gets_the_vectors_of_its_own_texts(mode: Mode) -> None:
    async def scenario() -> None:
        upstream = Upstream(quick=True)
        batcher = Batcher(Rule(mode, 7, 0.002), upstream)
        rng = random.Random(1)

        async def client(number: int) -> None:
            texts = [f"{number}.{place}" for place in range(rng.randrange(1, 6))]
            await asyncio.sleep(rng.random() * 0.02)
            assert await batcher.submit(texts) == expected(texts)

        await asyncio.gather(*(client(number) for number in range(300)))
        assert sum(map(len, upstream.calls)) > 300
        assert max(map(len, upstream.calls)) <= 7 * 5

    run(scenario)


def test_fixed_waits_for_a_full_batch_or_for_the_time_of_the_first() -> None:
    async def scenario() -> None:
        upstream = Upstream(quick=True)
        seen: list[Seen] = []
        batcher = Batcher(Rule(Mode.FIXED, 3, 0.05), upstream, seen.append)
        first = [asyncio.create_task(batcher.submit([name])) for name in "ab"]
        await settle()
        assert upstream.calls == [], "two of three, and no time has passed"
        first.append(asyncio.create_task(batcher.submit(["c"])))
        await asyncio.gather(*first)
        assert upstream.calls == [["a", "b", "c"]]
        await batcher.submit(["d"])
        assert upstream.calls[1:] == [["d"]]
        assert seen[1].waited_s[0] >= 0.049

    run(scenario)


def test_adaptive_sends_at_once_while_idle_and_gathers_while_busy() -> None:
    async def scenario() -> None:
        upstream = Upstream(quick=False)
        batcher = Batcher(Rule(Mode.ADAPTIVE, 8, 60), upstream)
        first = asyncio.create_task(batcher.submit(["a"]))
        await settle()
        assert upstream.calls == [["a"]]
        others = [asyncio.create_task(batcher.submit([name])) for name in "bcd"]
        await settle()
        assert upstream.calls == [["a"]]
        assert batcher.waiting == 3
        upstream.gate.set()
        await asyncio.gather(first, *others)
        assert upstream.calls == [["a"], ["b", "c", "d"]]

    run(scenario)


def test_adaptive_is_never_later_than_fixed() -> None:
    async def scenario() -> None:
        upstream = Upstream(quick=False)
        batcher = Batcher(Rule(Mode.ADAPTIVE, 2, 0.02), upstream)
        tasks = [asyncio.create_task(batcher.submit([name])) for name in "abcd"]
        await settle()
        assert upstream.calls == [["a"], ["b", "c"]], (
            "a full batch leaves although the upstream is busy"
        )
        await asyncio.sleep(0.06)
        assert upstream.calls == [["a"], ["b", "c"], ["d"]], "and so does one whose time is over"
        upstream.gate.set()
        await asyncio.gather(*tasks)

    run(scenario)


@BOTH
def test_an_error_goes_to_everyone_in_the_batch_and_to_nobody_else(mode: Mode) -> None:
    async def scenario() -> None:
        failing = True

        async def upstream(board: Board, _options: bytes) -> Sequence[Any]:
            texts = board()
            if failing:
                raise RuntimeError(f"no {len(texts)}")
            return expected(texts)

        batcher = Batcher(Rule(mode, 4, 0.01), upstream)
        results = await asyncio.gather(
            *(batcher.submit([name]) for name in "abcd"), return_exceptions=True
        )
        assert all(isinstance(result, RuntimeError) for result in results)
        failing = False
        assert await batcher.submit(["e"]) == expected(["e"])

    run(scenario)


@BOTH
def test_one_requests_bad_text_costs_the_others_nothing(mode: Mode) -> None:
    async def scenario() -> None:
        async def upstream(board: Board, _options: bytes) -> Sequence[Any]:
            texts = board()
            await asyncio.sleep(0)
            if "bad" in texts:
                raise Guilty("bad")
            return expected(texts)

        batcher = Batcher(Rule(mode, 4, 0.01), upstream)
        texts = [["a"], ["b", "bad"], ["c"], ["d"]]
        results = await asyncio.gather(
            *(batcher.submit(each) for each in texts), return_exceptions=True
        )
        assert isinstance(results[1], Guilty)
        assert [results[0], *results[2:]] == [
            expected(texts[0]),
            expected(texts[2]),
            expected(texts[3]),
        ]

    run(scenario)


@BOTH
def test_a_client_that_goes_away_costs_the_others_nothing(mode: Mode) -> None:
    async def scenario() -> None:
        upstream = Upstream(quick=False)
        batcher = Batcher(Rule(mode, 3, 60), upstream)
        # So many make a call by this rule.
        names = "xyz" if mode is Mode.FIXED else "x"
        busy = [asyncio.create_task(batcher.submit([name])) for name in names]
        await settle()
        gone, stays = (
            asyncio.create_task(batcher.submit(["gone"])),
            asyncio.create_task(batcher.submit(["stays"])),
        )
        await settle()
        gone.cancel()
        await settle()
        assert batcher.waiting == 1
        upstream.gate.set()
        await asyncio.gather(*busy)
        await batcher.drain()
        assert await stays == expected(["stays"])
        assert not any("gone" in call for call in upstream.calls), (
            "what has not left need not be computed"
        )
        # And one whose batch has left already.
        upstream.gate.clear()
        tasks = [asyncio.create_task(batcher.submit([name])) for name in "abc"]
        await settle()
        tasks[0].cancel()
        upstream.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError)
        assert results[1:] == [expected(["b"]), expected(["c"])]

    run(scenario)


def test_when_the_first_goes_away_the_next_waits_no_longer_than_its_own_time() -> None:
    async def scenario() -> None:
        upstream = Upstream(quick=True)
        batcher = Batcher(Rule(Mode.FIXED, 8, 0.05), upstream)
        first = asyncio.create_task(batcher.submit(["first"]))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(batcher.submit(["second"]))
        await settle()
        first.cancel()
        assert await asyncio.wait_for(second, 5) == expected(["second"])

    run(scenario)


@BOTH
def test_beyond_the_bound_requests_are_refused_at_once_and_room_comes_back(mode: Mode) -> None:
    async def scenario() -> None:
        upstream = Upstream(quick=False)
        batcher = Batcher(Rule(mode, 2, 60, max_held=5), upstream)
        tasks = [asyncio.create_task(batcher.submit([str(number)])) for number in range(5)]
        await settle()
        with pytest.raises(Full):
            await batcher.submit(["one too many"])
        upstream.gate.set()
        await batcher.drain()
        await asyncio.gather(*tasks)
        tasks = [asyncio.create_task(batcher.submit([str(number)])) for number in range(2)]
        await asyncio.gather(*tasks)

    run(scenario)


@BOTH
def test_draining_answers_everything_that_was_accepted(mode: Mode) -> None:
    async def scenario() -> None:
        upstream = Upstream(quick=True)
        batcher = Batcher(Rule(mode, 100, 600), upstream)
        tasks = [asyncio.create_task(batcher.submit([str(number)])) for number in range(30)]
        await settle()
        await batcher.drain()
        assert [await task for task in tasks] == [expected([str(number)]) for number in range(30)]

    run(scenario)

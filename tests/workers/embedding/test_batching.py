"""Gathering requests: when a batch leaves, who gets which vectors, and what is bounded."""

import asyncio
import gc
import random
import weakref
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import pytest
from batching import Batcher, Board, Full, Guilty, Seen
from rule import Mode, Rule

from tests.workers.embedding.batched import BOTH, Upstream, expected, looped, settle


@BOTH
@looped
async def test_each_request_gets_the_vectors_of_its_own_texts(mode: Mode) -> None:
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


@looped
async def test_fixed_waits_for_a_full_batch_or_for_the_time_of_the_first() -> None:
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


@looped
async def test_adaptive_sends_at_once_while_idle_and_gathers_while_busy() -> None:
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


@looped
async def test_adaptive_is_never_later_than_fixed() -> None:
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


@BOTH
@looped
async def test_a_client_that_goes_away_costs_the_others_nothing(mode: Mode) -> None:
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


@looped
async def test_when_the_first_goes_away_the_next_waits_no_longer_than_its_own_time() -> None:
    upstream = Upstream(quick=True)
    batcher = Batcher(Rule(Mode.FIXED, 8, 0.05), upstream)
    first = asyncio.create_task(batcher.submit(["first"]))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(batcher.submit(["second"]))
    await settle()
    first.cancel()
    assert await asyncio.wait_for(second, 5) == expected(["second"])


@BOTH
@looped
async def test_the_bound_is_one_for_all_options_and_who_goes_makes_room(mode: Mode) -> None:
    upstream = Upstream(quick=False)
    batcher = Batcher(Rule(mode, 8, 60, max_held=3), upstream)
    tasks = [
        asyncio.create_task(batcher.submit(["a"], options=bytes([number]))) for number in range(3)
    ]
    await settle()
    with pytest.raises(Full):
        await batcher.submit(["a"], options=b"others")
    for task in tasks:
        task.cancel()
    await settle()
    assert batcher.waiting == 0
    again = asyncio.gather(*(batcher.submit(["a"]) for _ in range(3)))
    upstream.gate.set()
    await batcher.drain()
    assert await again == [expected(["a"])] * 3


class Texts(list[str]):
    """A list that can be watched."""


@BOTH
@pytest.mark.parametrize("error", [None, RuntimeError, Guilty])
@looped
async def test_what_was_asked_is_forgotten_with_its_answer(
    mode: Mode, error: type[Exception] | None
) -> None:
    async def upstream(board: Board, _options: bytes) -> Sequence[Any]:
        texts = board()
        if error is not None:
            raise error("no")
        return expected(texts)

    batcher = Batcher(Rule(mode, 2, 0.001), upstream)

    async def ask() -> "weakref.ref[Texts]":
        texts = Texts(["a"])
        with suppress(RuntimeError, Guilty):
            await batcher.submit(texts)
        return weakref.ref(texts)

    gc.disable()  # It would find cycles, but only now and then: until then they are held.
    try:
        asked = await asyncio.gather(*(ask() for _ in range(5)))
        await batcher.drain()
        await settle()
        assert [reference() for reference in asked] == [None] * 5
    finally:
        gc.enable()


@BOTH
@looped
async def test_a_call_that_nobody_waits_for_any_more_is_given_up(mode: Mode) -> None:
    given_up = []

    async def upstream(board: Board, _options: bytes) -> Sequence[Any]:
        texts = board()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            given_up.append(texts)
            raise
        raise AssertionError

    batcher = Batcher(Rule(mode, 2, 0), upstream)
    tasks = [asyncio.create_task(batcher.submit([name])) for name in "ab"]
    await asyncio.sleep(0.01)
    tasks[0].cancel()
    await settle()
    assert given_up == ([["a"]] if mode is Mode.ADAPTIVE else [])
    tasks[1].cancel()
    await batcher.drain()
    assert sorted(chain.from_iterable(given_up)) == ["a", "b"]


@BOTH
@looped
async def test_who_hurries_waits_for_nobody(mode: Mode) -> None:
    upstream = Upstream(quick=False)
    batcher = Batcher(Rule(mode, 8, 600), upstream)
    tasks = [asyncio.create_task(batcher.submit([name])) for name in "ab"]
    await settle()
    batcher.hurry()
    tasks.append(asyncio.create_task(batcher.submit(["late"])))
    await settle()
    assert sorted(chain.from_iterable(upstream.calls)) == ["a", "b", "late"]
    upstream.gate.set()
    await asyncio.gather(*tasks)

"""Batches of requests with options: who travels together, and what is bounded."""

import asyncio
import gc
import weakref
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import pytest
from batching import Batcher, Board, Full, Guilty
from rule import Mode, Rule

from tests.workers.embedding.batched import BOTH, Upstream, expected, run, settle


def test_only_what_agrees_in_all_options_travels_together() -> None:
    async def scenario() -> None:
        upstream = Upstream(quick=True)
        batcher = Batcher(Rule(Mode.FIXED, 2, 60), upstream)
        wanted = [("a", b"1"), ("b", b"2"), ("c", b"2"), ("d", b"1")]
        await asyncio.gather(*(batcher.submit([text], options=how) for text, how in wanted))
        assert sorted(zip(upstream.calls, upstream.options, strict=True)) == [
            (["a", "d"], b"1"),
            (["b", "c"], b"2"),
        ]

    run(scenario)


@BOTH
def test_the_bound_is_one_for_all_options(mode: Mode) -> None:
    async def scenario() -> None:
        batcher = Batcher(Rule(mode, 8, 60, max_held=3), Upstream(quick=False))
        tasks = [
            asyncio.create_task(batcher.submit(["a"], options=bytes([number])))
            for number in range(3)
        ]
        await settle()
        with pytest.raises(Full):
            await batcher.submit(["a"], options=b"others")
        for task in tasks:
            task.cancel()
        await settle()
        assert batcher.waiting == 0

    run(scenario)


@BOTH
@pytest.mark.parametrize("error", [None, RuntimeError, Guilty])
def test_what_was_asked_is_forgotten_with_its_answer(
    mode: Mode, error: type[Exception] | None
) -> None:
    class Texts(list[str]):
        """A list that can be watched."""

    async def scenario() -> None:
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

        asked = await asyncio.gather(*(ask() for _ in range(5)))
        await batcher.drain()
        await settle()
        assert [reference() for reference in asked] == [None] * 5

    gc.disable()  # It would find cycles, but only now and then: until then they are held.
    try:
        run(scenario)
    finally:
        gc.enable()


def test_a_batch_is_full_when_its_bytes_are_whatever_its_number() -> None:
    async def scenario() -> None:
        upstream = Upstream(quick=True)
        batcher = Batcher(Rule(Mode.FIXED, 8, 0.05, max_batch_bytes=100), upstream)
        sizes = [40, 60, 1, 100, 101, 50, 50]
        await asyncio.gather(
            *(batcher.submit([str(size)], size_bytes=size) for size in sizes),
        )
        assert upstream.calls == [["40", "60"], ["1"], ["100"], ["101"], ["50", "50"]]

    run(scenario)


@BOTH
def test_a_call_that_nobody_waits_for_any_more_is_given_up(mode: Mode) -> None:
    async def scenario() -> None:
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

    run(scenario)


@BOTH
def test_who_hurries_waits_for_nobody(mode: Mode) -> None:
    async def scenario() -> None:
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

    run(scenario)

"""Gathering requests: when a batch leaves, who gets which vectors, whose turn it is upstream."""

import asyncio
import random

import pytest
from rule import Mode, Rule
from turns import Busy, Turns

from tests.workers.embedding.batched import batched, begun, expected, looped


@looped
async def test_adaptive_sends_at_once_while_idle_and_gathers_while_busy() -> None:
    batcher, upstream = batched(Rule(Mode.ADAPTIVE, 3, 60))
    tasks = await begun(*(batcher.submit([name]) for name in "abc"))
    assert (upstream.calls, batcher.waiting) == ([["a"]], 2)
    tasks += await begun(*(batcher.submit([name]) for name in "de"))
    # A full batch leaves although the upstream is busy.
    assert (upstream.calls, batcher.waiting) == ([["a"], ["b", "c", "d"]], 1)
    upstream.gate.set()
    await asyncio.gather(*tasks)
    assert upstream.calls[2:] == [["e"]]
    # And so does one whose time is over.
    batcher, upstream = batched(Rule(Mode.ADAPTIVE, 3, 0.02))
    await begun(batcher.submit(["a"]), batcher.submit(["b"]))
    await asyncio.sleep(0.06)
    assert upstream.calls == [["a"], ["b"]]
    upstream.gate.set()
    await batcher.drain()


@looped
async def test_a_call_goes_on_for_who_stays_and_is_given_up_when_the_last_goes() -> None:
    batcher, upstream = batched(Rule(Mode.FIXED, 3, 60))
    first, *others = await begun(*(batcher.submit([name]) for name in "abc"))
    first.cancel()
    upstream.gate.set()
    assert await asyncio.gather(*others) == [expected(["b"]), expected(["c"])]
    upstream.gate.clear()
    for task in await begun(*(batcher.submit([name]) for name in "abc")):
        assert not upstream.given_up
        task.cancel()
        await begun()
    assert upstream.given_up == [["a", "b", "c"]]


@pytest.mark.parametrize("seed", range(30))
@looped
async def test_so_many_turns_are_taken_at_once_and_none_is_lost(seed: int) -> None:
    turns, rng, held = Turns(2), random.Random(seed), 0
    tasks: list[asyncio.Task[None]] = []
    for _ in range(300):
        operation = rng.choice(("ask", "give back", "go", "settle"))
        if operation == "ask":
            tasks.append(asyncio.create_task(turns.take(60)))
        elif operation == "give back" and held:
            held -= 1
            turns.give_back()
        elif operation == "go" and tasks:
            rng.choice(tasks).cancel()
        elif operation == "settle":
            await begun()
            held += sum(task.done() and not task.cancelled() for task in tasks)
            tasks = [task for task in tasks if not task.done()]
            assert held == 2 or not tasks
    for task in tasks:
        task.cancel()
    held += (await asyncio.gather(*tasks, return_exceptions=True)).count(None)
    for _ in range(held):
        turns.give_back()
    await turns.take(0)
    await turns.take(0)
    with pytest.raises(Busy):
        await turns.take(0)

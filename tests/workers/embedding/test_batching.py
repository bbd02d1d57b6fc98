"""Gathering requests: when a batch leaves, who gets which vectors, whose turn it is upstream."""

import asyncio
import random
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest
from batching import Batcher, Board
from rule import Mode, Rule
from turns import Busy, Turns


class Upstream:
    """Keeps what it is asked. Calls last until the gate opens."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.gate = asyncio.Event()

    async def __call__(self, board: Board, _options: bytes) -> Sequence[Any]:
        self.calls.append(board())
        await self.gate.wait()
        return self.calls[-1]


async def begun(*awaited: Coroutine[Any, Any, Any]) -> list["asyncio.Task[Any]"]:
    """Tasks of these, which are as far as they get by themselves."""
    tasks = [asyncio.create_task(one) for one in awaited]
    for _ in range(10):
        await asyncio.sleep(0)
    return tasks


def test_adaptive_sends_at_once_while_idle_and_gathers_while_busy() -> None:
    asyncio.run(send_and_gather())


async def send_and_gather() -> None:
    upstream = Upstream()
    batcher = Batcher(Rule(Mode.ADAPTIVE, 3, 60), upstream)
    tasks = await begun(*(batcher.submit([name]) for name in "abc"))
    assert (upstream.calls, batcher.waiting) == ([["a"]], 2)
    tasks += await begun(*(batcher.submit([name]) for name in "de"))
    # A full batch leaves although the upstream is busy.
    assert (upstream.calls, batcher.waiting) == ([["a"], ["b", "c", "d"]], 1)
    upstream.gate.set()
    await asyncio.gather(*tasks)
    assert upstream.calls[2:] == [["e"]]
    # And so does one whose time is over.
    upstream = Upstream()
    batcher = Batcher(Rule(Mode.ADAPTIVE, 3, 0.02), upstream)
    await begun(batcher.submit(["a"]), batcher.submit(["b"]))
    await asyncio.sleep(0.06)
    assert upstream.calls == [["a"], ["b"]]
    upstream.gate.set()
    await batcher.drain()


@pytest.mark.parametrize("seed", range(30))
def test_so_many_turns_are_taken_at_once_and_none_is_lost(seed: int) -> None:
    asyncio.run(take_turns(seed))


async def take_turns(seed: int) -> None:
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

"""Gathering requests: when a batch leaves, who gets which vectors, whose turn it is upstream."""

import asyncio
import random
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest
from batching import Batcher, Board, Full, Guilty
from rule import Mode, Rule
from turns import Busy, Turns


class Upstream:
    """Keeps what it is asked. Calls last until the gate opens."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.gate = asyncio.Event()

    async def __call__(self, board: Board, options: bytes) -> Sequence[Any]:
        await self.gate.wait() if options == b"late" else None
        self.calls.append(texts := board())
        await self.gate.wait()
        if options == b"broken":
            raise ValueError("boom")
        if "guilty" in texts:
            raise Guilty
        return [f"{options!r} {text}" for text in texts]


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


def test_only_equals_travel_together_and_each_gets_its_own_or_the_error_of_its_batch() -> None:
    asyncio.run(send_and_answer())


async def send_and_answer() -> None:
    upstream = Upstream()
    batcher = Batcher(Rule(Mode.FIXED, 2, 60, max_held=8), upstream)
    asked = [("a", b"x"), ("b", b"y"), ("c d", b"x"), ("e", b"y")]
    asked += [("guilty", b""), ("innocent", b""), ("f", b"broken"), ("g", b"broken")]
    tasks = await begun(*(batcher.submit(text.split(), options=by) for text, by in asked))
    with pytest.raises(Full):
        await batcher.submit(["more"])
    assert upstream.calls == [["a", "c", "d"], ["b", "e"], ["guilty", "innocent"], ["f", "g"]]
    upstream.gate.set()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert answers[:4] == [["b'x' a"], ["b'y' b"], ["b'x' c", "b'x' d"], ["b'y' e"]]
    assert [*map(repr, answers[4:])] == [
        "Guilty()", """["b'' innocent"]""", "ValueError('boom')", "ValueError('boom')",
    ]  # fmt: skip


def test_a_client_that_is_gone_does_not_go_upstream_and_the_end_waits_for_no_company() -> None:
    asyncio.run(go_and_drain())


async def go_and_drain() -> None:
    upstream = Upstream()
    batcher = Batcher(Rule(Mode.FIXED, 2, 60), upstream)
    waiting = await begun(*(batcher.submit([name], options=b"late") for name in ("gone", "alive")))
    waiting += await begun(batcher.submit(["alone"]), batcher.submit(["left"], options=b"x"))
    waiting[0].cancel()
    waiting[3].cancel()
    await begun()
    upstream.gate.set()
    await batcher.drain()
    assert sorted(upstream.calls) == [["alive"], ["alone"]]
    assert [task.cancelled() for task in waiting] == [True, False, False, True]


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

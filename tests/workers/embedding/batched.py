"""A batcher's upstream, and tests in an event loop."""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ParamSpec

from batching import Batcher, Board
from rule import Rule

Given = ParamSpec("Given")


class Upstream:
    """Answers each text with a vector that names it. Calls last until the gate opens."""

    def __init__(self, *, quick: bool) -> None:
        self.calls: list[list[str]] = []
        self.given_up: list[list[str]] = []
        self.gate = asyncio.Event()
        if quick:
            self.gate.set()

    async def __call__(self, board: Board, _options: bytes) -> Sequence[Any]:
        texts = board()
        self.calls.append(texts)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.given_up.append(texts)
            raise
        return expected(texts)


def batched(rule: Rule, *, quick: bool = False) -> tuple[Batcher, Upstream]:
    upstream = Upstream(quick=quick)
    return Batcher(rule, upstream), upstream


def looped(test: Callable[Given, Coroutine[Any, Any, None]]) -> Callable[Given, None]:
    """Runs a test in an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments: Given.args, **more: Given.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*arguments, **more), 30))

    return run


async def begun(*awaited: Coroutine[Any, Any, Any]) -> list["asyncio.Task[Any]"]:
    """Tasks of these, which are as far as they get by themselves."""
    tasks = [asyncio.create_task(one) for one in awaited]
    for _ in range(10):
        await asyncio.sleep(0)
    return tasks


def expected(texts: list[str]) -> list[list[str]]:
    return [["vector of", text] for text in texts]

"""A batcher's upstream, and tests in an event loop."""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ParamSpec

import pytest
from batching import Board
from rule import Mode

Given = ParamSpec("Given")
BOTH = pytest.mark.parametrize("mode", list(Mode))


class Upstream:
    """Answers each text with a vector that names it. Calls last until the gate opens."""

    def __init__(self, *, quick: bool) -> None:
        self.calls: list[list[str]] = []
        self.gate = asyncio.Event()
        if quick:
            self.gate.set()

    async def __call__(self, board: Board, _options: bytes) -> Sequence[Any]:
        texts = board()
        self.calls.append(texts)
        await self.gate.wait()
        return [["vector of", text] for text in texts]


def looped(test: Callable[Given, Coroutine[Any, Any, None]]) -> Callable[Given, None]:
    """Runs a test in an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments: Given.args, **more: Given.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*arguments, **more), 30))

    return run


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def expected(texts: list[str]) -> list[list[str]]:
    return [["vector of", text] for text in texts]

"""A batcher's upstream, and scenarios in an event loop."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest
from batching import Board
from rule import Mode

BOTH = pytest.mark.parametrize("mode", list(Mode))


class Upstream:
    """Answers each text with a vector that names it. Calls last until the gate opens."""

    def __init__(self, *, quick: bool) -> None:
        self.calls: list[list[str]] = []
        self.options: list[bytes] = []
        self.gate = asyncio.Event()
        if quick:
            self.gate.set()

    async def __call__(self, board: Board, options: bytes) -> Sequence[Any]:
        texts = board()
        self.calls.append(texts)
        self.options.append(options)
        await self.gate.wait()
        return [["vector of", text] for text in texts]


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 30))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def expected(texts: list[str]) -> list[list[str]]:
    return [["vector of", text] for text in texts]

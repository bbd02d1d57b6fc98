"""Gathering requests into batches. Pure asyncio, no HTTP: rules can be tried without a network.

Two rules. ``fixed``: a batch leaves when ``max_batch_size`` requests wait, or ``max_wait_s`` have
passed since the first of them came. ``adaptive``: that, and also at once whenever nothing is under
way upstream. To wait is worth something only while the upstream is busy anyway: what comes
meanwhile travels together when it is free. So no request leaves later than by the fixed rule.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Vector = list[float]
Call = Callable[[list[str]], Awaitable[Sequence[Any]]]
"""Sends texts upstream; gives a vector for each, in order.

What it raises goes to everyone in the batch.
"""


class Mode(str, Enum):
    """When a batch leaves."""

    FIXED = "fixed"
    ADAPTIVE = "adaptive"


class Full(Exception):
    """More requests are waiting and under way than the batcher may hold."""


class Guilty(Exception):
    """The upstream refuses the texts themselves: the fault of one request, not of its company."""


@dataclass(frozen=True)
class Rule:
    """When a batch leaves, and how much is held."""

    mode: Mode
    max_batch_size: int
    """Requests."""
    max_wait_s: float
    max_held: int = 1000
    """Requests waiting and under way."""


@dataclass
class Seen:
    """What a batcher tells its observer of each batch."""

    requests: int
    inputs: int
    waited_s: list[float]
    """How long each request waited, from when it came to when the batch left."""


@dataclass(eq=False)
class _Waiting:
    texts: list[str]
    came_at: float
    answer: "asyncio.Future[Sequence[Any]]" = field(repr=False)


class Batcher:
    """Requests in, slices of batches out. All its methods run in one event loop."""

    def __init__(
        self, rule: Rule, call: Call, observe: Callable[[Seen], None] = lambda _seen: None
    ) -> None:
        self._rule = rule
        self._call = call
        self._observe = observe
        self._queue: list[_Waiting] = []
        self._held = 0
        self._under_way = 0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """Requests that have not left yet."""
        return len(self._queue)

    async def submit(self, texts: list[str]) -> Sequence[Any]:
        """The vectors of these texts.

        Raises ``Full`` at once when too much is held, and whatever the upstream's call raises.
        Cancelling it costs the others nothing: a request that has not left yet never will.
        """
        if self._held >= self._rule.max_held:
            raise Full
        loop = asyncio.get_running_loop()
        waiting = _Waiting(texts, time.monotonic(), loop.create_future())
        self._held += 1
        self._queue.append(waiting)
        idle = self._rule.mode is Mode.ADAPTIVE and not self._under_way
        if idle or len(self._queue) >= self._rule.max_batch_size:
            self._send()
        elif len(self._queue) == 1:
            self._timer = loop.call_later(self._rule.max_wait_s, self._send)
        try:
            return await waiting.answer
        finally:
            self._held -= 1
            if waiting in self._queue:
                self._leave(waiting)

    async def drain(self) -> None:
        """Sends what waits, and returns when everything has been answered."""
        self._send()
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _leave(self, waiting: _Waiting) -> None:
        """A client went away. The timer belongs to the first in the queue."""
        was_first = self._queue[0] is waiting
        self._queue.remove(waiting)
        if was_first and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._queue:
                left_s = max(0.0, self._queue[0].came_at + self._rule.max_wait_s - time.monotonic())
                self._timer = asyncio.get_running_loop().call_later(left_s, self._send)

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._queue = self._queue, []
        if not batch:
            return
        self._under_way += 1
        now = time.monotonic()
        self._observe(
            Seen(len(batch), sum(len(w.texts) for w in batch), [now - w.came_at for w in batch])
        )
        task = asyncio.get_running_loop().create_task(self._carry(batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, batch: list[_Waiting]) -> None:
        try:
            await self._answer(batch)
        finally:
            self._under_way -= 1
            if self._queue and not self._under_way and self._rule.mode is Mode.ADAPTIVE:
                self._send()

    async def _answer(self, batch: list[_Waiting]) -> None:
        try:
            vectors = await self._call([text for waiting in batch for text in waiting.texts])
        except Guilty as error:
            if len(batch) == 1:
                _give(batch[0], error)
                return
            # Whose fault it is, only asking one by one can tell.
            await asyncio.gather(*(self._answer([waiting]) for waiting in batch))
            return
        except BaseException as error:
            for waiting in batch:
                _give(
                    waiting,
                    error
                    if isinstance(error, Exception)
                    else ConnectionError("the proxy is stopping"),
                )
            if not isinstance(error, Exception):
                raise
            return
        start = 0
        for waiting in batch:
            end = start + len(waiting.texts)
            if not waiting.answer.done():  # else its client has gone
                waiting.answer.set_result(vectors[start:end])
            start = end


def _give(waiting: _Waiting, error: Exception) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(error)

"""Gathering requests into batches. Pure asyncio, no HTTP: rules can be tried without a network.

Only what agrees in all options travels together, and no more than an upstream takes in one body.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rule import Mode, Rule

log = logging.getLogger("proxy")

Board = Callable[[], list[Any]]
"""Gives the texts of those who wait still, at the moment when their call is made."""
Call = Callable[[Board, bytes], Awaitable[Sequence[Any]]]
"""Sends texts upstream, with their options; gives a vector for each, in order.

What it raises goes to everyone in the batch.
"""


class Full(Exception):
    """More requests are waiting and under way than the batcher may hold."""


class Guilty(Exception):
    """The upstream refuses the texts themselves: the fault of one request, not of its company."""


@dataclass
class Seen:
    """What a batcher tells its observer of each batch."""

    requests: int
    inputs: int
    waited_s: list[float]
    """How long each request waited, from when it came to when the batch left."""


@dataclass(eq=False)
class _Waiting:
    texts: list[Any]
    size_bytes: int
    came_at: float
    answer: "asyncio.Future[Sequence[Any]]" = field(repr=False)
    batch: "_Batch | None" = None
    """``None`` until it has left."""


@dataclass(eq=False)
class _Batch:
    requests: list[_Waiting]
    task: "asyncio.Task[None]"


@dataclass(eq=False)
class _Group:
    """What may travel together."""

    queue: list[_Waiting] = field(default_factory=list)
    size_bytes: int = 0
    """The queue's."""
    under_way: int = 0
    """Batches."""
    timer: asyncio.TimerHandle | None = None
    """It belongs to the first in the queue."""


class Batcher:
    """Requests in, slices of batches out. All its methods run in one event loop."""

    def __init__(
        self, rule: Rule, call: Call, observe: Callable[[Seen], None] = lambda _seen: None
    ) -> None:
        self._rule = rule
        self._call = call
        self._observe = observe
        self._groups: defaultdict[bytes, _Group] = defaultdict(_Group)
        """By options. One without requests is dropped: clients may think of any number."""
        self._held = 0
        self._hurrying = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """Requests that have not left yet."""
        return sum(len(group.queue) for group in self._groups.values())

    async def submit(
        self, texts: list[Any], *, options: bytes = b"", size_bytes: int = 0
    ) -> Sequence[Any]:
        """The vectors of these texts, which travel with those of equal ``options`` only.

        Raises ``Full`` at once when too much is held, and whatever the upstream's call raises.
        Cancelling it costs the others nothing: a request that has not left yet never will.
        """
        if self._held >= self._rule.max_held:
            raise Full
        answer: asyncio.Future[Sequence[Any]] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(texts, size_bytes, time.monotonic(), answer)
        self._held += 1
        self._enqueue(waiting, options)
        try:
            return await answer
        except asyncio.CancelledError:
            self._leave(waiting, options)
            raise
        finally:
            self._held -= 1
            del answer, waiting  # Else an error's traceback would keep them, and they the error.

    def hurry(self) -> None:
        """Sends what waits, and from now on everything as it comes."""
        self._hurrying = True
        for options in list(self._groups):
            self._send(options)

    async def drain(self) -> None:
        """Sends what waits, and returns when everything has been answered."""
        self.hurry()
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _enqueue(self, waiting: _Waiting, options: bytes) -> None:
        rule = self._rule
        if self._groups[options].size_bytes + waiting.size_bytes > rule.max_batch_bytes:
            self._send(options)
        group = self._groups[options]
        group.queue.append(waiting)
        group.size_bytes += waiting.size_bytes
        idle = rule.mode is Mode.ADAPTIVE and not group.under_way
        if idle or self._hurrying or len(group.queue) >= rule.max_batch_size:
            self._send(options)
        elif len(group.queue) == 1:
            self._set_timer(group, options)

    def _leave(self, waiting: _Waiting, options: bytes) -> None:
        """Lets a client go; its request does not leave, and nobody waits for it alone."""
        if waiting.batch is not None:
            if all(other.answer.done() for other in waiting.batch.requests):
                waiting.batch.task.cancel()
            return
        group = self._groups[options]
        was_first = group.queue[0] is waiting
        group.queue.remove(waiting)
        group.size_bytes -= waiting.size_bytes
        if was_first:
            self._set_timer(group, options)
        self._drop_if_empty(options)

    def _set_timer(self, group: _Group, options: bytes) -> None:
        if group.timer is not None:
            group.timer.cancel()
            group.timer = None
        if group.queue:
            left_s = max(0.0, group.queue[0].came_at + self._rule.max_wait_s - time.monotonic())
            loop = asyncio.get_running_loop()
            group.timer = loop.call_later(left_s, self._send, options)

    def _send(self, options: bytes) -> None:
        group = self._groups[options]
        requests, group.queue, group.size_bytes = group.queue, [], 0
        self._set_timer(group, options)
        if not requests:
            self._drop_if_empty(options)
            return
        group.under_way += 1
        now = time.monotonic()
        inputs = sum(len(waiting.texts) for waiting in requests)
        self._observe(Seen(len(requests), inputs, [now - w.came_at for w in requests]))
        task = asyncio.get_running_loop().create_task(self._answer(requests, options))
        batch = _Batch(requests, task)
        for waiting in requests:
            waiting.batch = batch
        self._tasks.add(task)
        task.add_done_callback(lambda _task: self._arrive(batch, options))

    def _arrive(self, batch: _Batch, options: bytes) -> None:
        self._tasks.discard(batch.task)
        # They know their batch: a cycle, which would keep all texts until the garbage collector
        # comes by.
        batch.requests.clear()
        group = self._groups[options]
        group.under_way -= 1
        if not group.under_way and self._rule.mode is Mode.ADAPTIVE:
            self._send(options)
        self._drop_if_empty(options)

    def _drop_if_empty(self, options: bytes) -> None:
        group = self._groups[options]
        if not group.queue and not group.under_way:
            del self._groups[options]

    async def _answer(self, requests: list[_Waiting], options: bytes) -> None:
        aboard: list[_Waiting] = []

        def board() -> list[Any]:
            aboard[:] = [waiting for waiting in requests if not waiting.answer.done()]
            return [text for waiting in aboard for text in waiting.texts]

        try:
            vectors = await self._call(board, options)
        except Guilty as error:
            if len(aboard) == 1:
                _give(aboard[0], error)
                return
            # Whose fault it is, only asking one by one can tell.
            await asyncio.gather(*(self._answer([waiting], options) for waiting in aboard))
            return
        except asyncio.CancelledError:
            for waiting in requests:
                _give(waiting, ConnectionError("the proxy is stopping"))
            raise
        except Exception as error:
            log.debug("a batch failed", exc_info=error)
            for waiting in requests:
                _give(waiting, error)
            return
        start = 0
        for waiting in aboard:
            end = start + len(waiting.texts)
            if not waiting.answer.done():  # else its client has gone
                waiting.answer.set_result(vectors[start:end])
            start = end


def _give(waiting: _Waiting, error: Exception) -> None:
    if not waiting.answer.done():
        # The frames of its traceback know the requests, and these their answers: a cycle, which
        # would keep all that was sent and received until the garbage collector comes by.
        waiting.answer.set_exception(error.with_traceback(None))

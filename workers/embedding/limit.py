"""How many inputs an upstream takes in a call, by its own word."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from wire import ServiceError

log = logging.getLogger("proxy")

_DEFAULT = 32
"""text-embeddings-inference's own default."""
_FIRST_ANSWER_WITHIN_S = 2.0
_ASKED_AGAIN_AFTER_S = 0.5
"""Twice as long after each further answer that says nothing, up to a minute."""
_MOST_S = 60.0


class Limit:
    """A limit that was set, or that the upstream says; until it does, its usual one.

    An upstream may be still starting, or hang: nobody waits for its word for long, and it is asked
    again.
    """

    def __init__(self, fixed: int, ask: Callable[[], Awaitable[object]]) -> None:
        """``fixed``: 0 for what the upstream says."""
        self._limit = fixed
        self._ask = ask
        self._task: asyncio.Task[None] | None = None
        self._pause_s = _ASKED_AGAIN_AFTER_S
        self._again_at = 0.0

    def ask(self) -> None:
        """Begins to ask, where that is worth something."""
        under_way = self._task is not None and not self._task.done()
        if not self._limit and not under_way and time.monotonic() >= self._again_at:
            self._task = asyncio.get_running_loop().create_task(self._learn())

    async def known(self) -> int:
        """The limit as far as it is known; at first, waits a little for the upstream's word."""
        if self._limit:
            return self._limit
        self.ask()
        if self._task is not None and not self._again_at:
            await asyncio.wait({self._task}, timeout=_FIRST_ANSWER_WITHIN_S)
        return self._limit or _DEFAULT

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _learn(self) -> None:
        try:
            said = await asyncio.wait_for(self._ask(), _FIRST_ANSWER_WITHIN_S)
            if isinstance(said, int) and said >= 1:
                self._limit = int(said)
                return
            log.warning("the upstream says no max_client_batch_size; taking %d", _DEFAULT)
        except (ServiceError, ValueError, asyncio.TimeoutError) as error:
            log.warning("the upstream does not say its limit; taking %d: %s", _DEFAULT, error)
        self._again_at = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _MOST_S)

"""Turns at something of which only so much is done at once."""

import asyncio
from collections import deque

_Place = asyncio.Future[bool]
"""Its result: whether the turn has been taken for who waits there."""


class Busy(Exception):
    """No turn came up in time."""


class Turns:
    """So many turns at once, to those who have waited longest.

    Not strictly: who asks in the very instant when a turn comes back takes it before the one that
    it wakes, but nobody is overtaken twice.
    """

    def __init__(self, most: int) -> None:
        """``most``: turns at once; 0 for any number."""
        self._free = float(most or "inf")
        self._waiting: deque[_Place] = deque()
        self._overtaken: set[_Place] = set()

    async def take(self, within_s: float) -> None:
        """Takes a turn, which must be given back. Raises ``Busy`` if none comes up in time."""
        if not self._free:
            await self._wait(within_s)
        else:
            self._free -= 1

    def give_back(self) -> None:
        self._free += 1
        self._wake()

    async def _wait(self, within_s: float) -> None:
        end = asyncio.get_running_loop().time() + within_s
        if await self._wait_at(self._new_place(first=False), end):
            return
        if self._free:
            self._free -= 1
            return
        place = self._new_place(first=True)
        self._overtaken.add(place)
        await self._wait_at(place, end)

    async def _wait_at(self, place: _Place, end: float) -> bool:
        """Whether the turn has been taken for who waits; else he is woken to take it himself."""
        timer = asyncio.get_running_loop().call_at(end, _give_up, place)
        try:
            return await place
        except asyncio.CancelledError:
            # Whoever goes while he is woken must not take the turn with him.
            if place.done() and not place.cancelled():
                if place.result():
                    self._free += 1
                self._wake()
            raise
        finally:
            timer.cancel()
            self._overtaken.discard(place)
            if place in self._waiting:
                self._waiting.remove(place)

    def _new_place(self, *, first: bool) -> _Place:
        place: _Place = asyncio.get_running_loop().create_future()
        if first:
            self._waiting.appendleft(place)
        else:
            self._waiting.append(place)
        return place

    def _wake(self) -> None:
        while self._free and self._waiting:
            place = self._waiting.popleft()
            if place.done():
                continue
            is_due = place in self._overtaken
            if is_due:
                self._free -= 1
            place.set_result(is_due)
            return


def _give_up(place: _Place) -> None:
    if not place.done():
        place.set_exception(Busy())

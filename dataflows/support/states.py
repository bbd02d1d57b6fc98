"""Holds for engines that have none of their own: the state of every key in one place, in memory."""

import time
from typing import Any, Dict, List, Optional

from .holding import Alarm, Window


class Windows:
    """Tumbling windows of time, by key; the one that is open is all that there is to remember."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._items: Dict[str, List[Any]] = {}
        self._closes_s = time.monotonic() + window.length_s

    @property
    def due_s(self) -> Optional[float]:
        """When to be woken, on the monotonic clock; ``None`` for never."""
        return self._closes_s if self._items else None

    def got(self, item: Any) -> List[Any]:
        """Takes an item; returns what goes on."""
        closed = self.woken() if time.monotonic() >= self._closes_s else []
        self._items.setdefault(self._window.key(item), []).append(item)
        return closed

    def woken(self) -> List[Any]:
        """Closes the windows whose time is over; returns what they held."""
        now = time.monotonic()
        while self._closes_s <= now:
            self._closes_s += self._window.length_s
        return self.ended()

    def ended(self) -> List[Any]:
        """Closes all windows; returns what they held."""
        held = [item for items in self._items.values() for item in items]
        self._items.clear()
        return held


class Alarms:
    """A time to be woken at for each key, asked for once."""

    def __init__(self, alarm: Alarm) -> None:
        self._alarm = alarm
        self._times: Dict[str, Optional[float]] = {}

    @property
    def due_s(self) -> Optional[float]:
        """When to be woken, on the monotonic clock; ``None`` for never."""
        return min((at for at in self._times.values() if at is not None), default=None)

    def got(self, item: Any) -> List[Any]:
        """Takes an item; returns what goes on."""
        self._times.setdefault(self._alarm.key(item), time.monotonic() + self._alarm.after_s)
        return [item]

    def woken(self) -> List[Any]:
        """Forgets the times that have come; returns what goes on."""
        now = time.monotonic()
        for key, at in self._times.items():
            if at is not None and at <= now:
                self._times[key] = None
        return []

    def ended(self) -> List[Any]:
        """Forgets all times; returns what goes on."""
        self._times.clear()
        return []

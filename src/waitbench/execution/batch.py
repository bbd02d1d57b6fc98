"""Batches: concurrent runs of worker files, each with a launcher of its own.

When all launchers run, start-ups are sequential, then all share one window, then pokes and
shutdowns are sequential: where time is judged, no run shares the CPUs with another that starts or
works. A run whose poke or shutdown takes long without using CPU releases the turn. The launchers
synchronise through marker files. Standard library only.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from waitbench.model.launch import BatchSlot

LAUNCHED, SETTLED, PHASED, COUNTED, WATCHED = BARRIERS = (
    "launched",
    "settled",
    "phased",
    "counted",
    "watched",
)
"""Barriers at which runs wait for each other."""
_TURN = "turn"
"""Locked by the run that has the turn."""
_POLL_INTERVAL_S = 0.05


class BatchMember:
    """A run that synchronises with the others of its batch."""

    def __init__(self, slot: BatchSlot) -> None:
        self.slot = slot
        self.waited_s = 0.0
        self._lock: IO[str] | None = None
        """Open during a turn."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Holds the turn, the right to start or to end, for the block or until it is handed
        over."""
        if not self.slot.folder:
            yield
            return
        with Path(self.slot.folder, _TURN).open("w") as self._lock:
            self.take_turn()
            yield
            # Explicitly: a forked child that has not exec'ed yet still holds the descriptor.
            self.hand_over_turn()
        self._lock = None

    def take_turn(self) -> None:
        if self._lock is not None:
            begun = time.monotonic()
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self.waited_s += time.monotonic() - begun

    def hand_over_turn(self) -> None:
        if self._lock is not None:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def enter(self) -> None:
        """Makes others wait for this run. All of a batch enter before the first begins."""
        # Now: creating markers later could fail on a full disk.
        for barrier in BARRIERS:
            self._marker(barrier).parent.mkdir(exist_ok=True)
            self._marker(barrier).touch()

    def wait_at(self, barrier: str, check: Callable[[], None]) -> None:
        """Blocks until each run of the batch is at the barrier or over; calls ``check``
        meanwhile."""
        if not self.slot.folder:
            return
        begun = time.monotonic()
        self._marker(barrier).unlink()
        # A single system call: many runs that wait must leave the CPUs to those that start or end.
        while os.listdir(self._marker(barrier).parent):
            check()
            time.sleep(_POLL_INTERVAL_S)
        self.waited_s += time.monotonic() - begun

    def leave(self) -> None:
        for barrier in BARRIERS if self.slot.folder else ():
            # A worker may have put a folder there.
            with suppress(OSError):
                self._marker(barrier).unlink()

    def _marker(self, barrier: str) -> Path:
        """The file that keeps others waiting at a barrier."""
        return Path(self.slot.folder, barrier, str(self.slot.number))

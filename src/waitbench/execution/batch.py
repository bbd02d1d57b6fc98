"""Batches: concurrent runs of worker files, each with a launcher of its own.

When all launchers run, start-ups are sequential in each of ``BatchSlot.lanes`` lanes, then all
share one window, then pokes and shutdowns are sequential in each lane; with services, half of the
lanes are for pokes, as a service, too, needs CPUs for one, and half for shutdowns. All of these are
timed, so the other runs of a lane only wait meanwhile. A run that outlasts its turn hands it over.
The launchers synchronise through marker files. Standard library only.
"""

import fcntl
import math
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from waitbench.model.launch import BatchSlot

BARRIERS = ("launched", "settled", "actions-done", "prepared", "observed")
"""Barriers, at which runs wait until all launchers run, all workers have settled, all actions of
phases are carried out, all runs have read their memory, and all have ended their window."""
LAUNCHED, SETTLED, ACTIONS_DONE, PREPARED, OBSERVED = BARRIERS
_POLL_INTERVAL_S = 0.05


class BatchMember:
    """A run that synchronises with the others of its batch."""

    def __init__(self, slot: BatchSlot) -> None:
        self.slot = slot
        self.waited_s = 0.0
        self._lock: int | None = None
        """The descriptor of the lock file, while the run has a turn."""
        self._lane = -1
        """The lane in which the run has, or had, a turn."""

    def lanes(self, *, has_services: bool) -> tuple[int, int, int]:
        """The lanes in which the run starts, is poked, and ends."""
        number, lanes, half = self.slot.number, self.slot.lanes, self.slot.lanes // 2
        if has_services and half:
            return number % lanes, number % half, half + number % half
        return (number % lanes,) * 3

    def take_turn(self, lane: int, most_s: float = math.inf) -> None:
        """Waits for the turn of a lane, unless the run has it; hands it over after ``most_s``."""
        if not self.slot.folder:
            return
        if lane != self._lane:
            self.hand_over_turn()
        self._lane = lane
        if self._lock is None:
            begun = time.monotonic()
            lock = os.open(Path(self.slot.folder, f"turn-{lane}"), os.O_CREAT | os.O_WRONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.waited_s += time.monotonic() - begun
            self._lock = lock
        if most_s < math.inf:
            signal.signal(signal.SIGALRM, lambda *_: self.hand_over_turn())
            signal.setitimer(signal.ITIMER_REAL, most_s)

    def hand_over_turn(self) -> None:
        """Gives up the turn, if the run has it; so does the end of this process."""
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        lock, self._lock = self._lock, None
        if lock is not None:
            # Closing does not unlock while a forked child still has the descriptor.
            fcntl.flock(lock, fcntl.LOCK_UN)
            os.close(lock)

    def enter(self) -> None:
        """Creates this run's markers. All runs of a batch do so before the first begins."""
        # All barriers at once: a full disk cannot stop the run at a later one.
        for barrier in BARRIERS:
            self._marker(barrier).parent.mkdir(exist_ok=True)
            self._marker(barrier).touch()

    def wait_at(self, barrier: str, check: Callable[[], None]) -> None:
        """Waits, calling ``check``, until each run of the batch is at the barrier or has ended."""
        if not self.slot.folder:
            return
        begun = time.monotonic()
        self._marker(barrier).unlink()
        # Lists the folder instead of testing each marker, so that waiting runs use little CPU.
        while self._is_closed(barrier):
            check()
            time.sleep(_POLL_INTERVAL_S)
        self.waited_s += time.monotonic() - begun

    def leave(self) -> None:
        """Removes this run's markers, so that no other waits for it."""
        for barrier in BARRIERS if self.slot.folder else ():
            # A worker may have put a folder there.
            with suppress(OSError):
                self._marker(barrier).unlink()

    def _is_closed(self, barrier: str) -> bool:
        with suppress(FileNotFoundError):
            return any(map(str.isdigit, os.listdir(self._marker(barrier).parent)))
        return False

    def _marker(self, barrier: str) -> Path:
        """The file that keeps others waiting at a barrier."""
        return Path(self.slot.folder, barrier, str(self.slot.number))

"""A batch: runs of worker files that take place at once, each with a launcher of its own.

Start-ups come one after the other, then one window for all, then pokes and ends one after the
other: where time is judged, no run shares the CPUs with another that starts or works. A run that
takes long to answer or to end, and waits meanwhile, lets the next begin. What the launchers agree
by are files in a folder of the batch. The standard library alone.
"""

import fcntl
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SETTLED, PHASED, COUNTED, WATCHED = MEETINGS = ("settled", "phased", "counted", "watched")
"""Where runs wait for each other: before and after the phases before the window, and before and
after the window."""
_TURN = "turn"
"""The file that is locked by who has the turn."""
_LOOK_EVERY_S = 0.005


@dataclass
class Place:
    """The place of a run in its batch; without a folder, the run is by itself."""

    folder: str = ""
    number: int = 0
    count: int = 1
    ends_alone_s: float = math.inf
    """How long it keeps its turn while it ends."""
    waited_s: float = 0.0
    """How long it waited for others."""

    @contextmanager
    def turn(self) -> Iterator["Turn"]:
        """For the time of the block, or until the turn is handed over, no other run has it.

        The kernel takes it back from a launcher that fails or dies.
        """
        if not self.folder:
            yield Turn(self)
            return
        with Path(self.folder, _TURN).open("w") as lock:
            turn = Turn(self, lock)
            turn.take()
            yield turn
            # Not by closing it: a child that has not begun its program has it open, too.
            turn.hand_over()

    def enter(self) -> None:
        """Has the others wait for this run, by files that it removes: a disk may be full by then.

        All of a batch enter before the first begins.
        """
        for where in MEETINGS:
            self._mark(where, self.number).touch()

    def meet(self, where: str, check: Callable[[], None]) -> None:
        """Returns when each run of the batch is here, or over; meanwhile calls ``check``."""
        if not self.folder:
            return
        begun = time.monotonic()
        self._mark(where, self.number).unlink()
        while any(self._mark(where, number).exists() for number in range(self.count)):
            check()
            time.sleep(_LOOK_EVERY_S)
        self.waited_s += time.monotonic() - begun

    def leave(self) -> None:
        """Has nobody wait for this run any more: it is over."""
        for where in MEETINGS if self.folder else ():
            self._mark(where, self.number).unlink(missing_ok=True)

    def _mark(self, where: str, number: int) -> Path:
        return Path(self.folder, f"{where}-{number}")


@dataclass
class Turn:
    """The right to start, to be woken up or to end; of a run by itself, without a lock."""

    place: Place
    lock: IO[str] | None = None

    def take(self) -> None:
        """Returns when no other run has it, at once where this one has it already."""
        if self.lock is not None:
            begun = time.monotonic()
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            self.place.waited_s += time.monotonic() - begun

    def hand_over(self) -> None:
        """Lets the next run have it."""
        if self.lock is not None:
            fcntl.flock(self.lock, fcntl.LOCK_UN)


ALONE = Place()

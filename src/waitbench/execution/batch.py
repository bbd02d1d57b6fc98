"""A batch: runs of worker files that take place at once, each with a launcher of its own.

Start-ups come one after the other, then one window for all, then pokes and ends one after the
other: where time is judged, no run shares the CPUs with another that starts or works. Who takes
long to end, and waits meanwhile, lets the next begin. What the launchers agree by are files in a
folder of the batch. The standard library alone.
"""

import fcntl
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

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
    def turn(self) -> Iterator[Callable[[], None]]:
        """For the time of the block, or until it calls what it is given, no other has its turn.

        The kernel takes it back from a launcher that fails or dies.
        """
        if not self.folder:
            yield lambda: None
            return
        begun = time.monotonic()
        with Path(self.folder, _TURN).open("w") as lock:
            # Not by closing it: a child that has not begun its program has it open, too.
            hand_over = partial(fcntl.flock, lock, fcntl.LOCK_UN)
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.waited_s += time.monotonic() - begun
            yield hand_over
            hand_over()

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


ALONE = Place()

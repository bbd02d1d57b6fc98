"""How the harness ends when it is told to: the one place that owns its signals.

The first signal ends everything in order, by an exception in the main thread, and whatever runs is
killed soon after, so that no thread waits for a download. A second one cannot interrupt that; the
clock can: whoever asked for an end has it within seconds.

Python runs a handler in the main thread only, and a signal does not interrupt that if it comes just
before the main thread begins to wait, or reaches another thread. So a thread of ours hears of each
signal, by ``signal.set_wakeup_fd``, keeps the clock, and pokes the main thread until it has heard.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NoReturn

from waitbench.model.errors import ExitCode
from waitbench.system import trees
from waitbench.system.guard import GUARD
from waitbench.system.streams import printable

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ORDERLY_S = 1.0
"""What was started has so long to end by itself."""
_AT_LAST_S = 3.0
"""After this the harness is gone, whatever it is doing."""
_KILLED_WITHIN_S = 1.0
_POKE = signal.SIGURG
"""Means nothing, but has the main thread stop waiting, and run its handlers."""
_POKE_EVERY_S = 0.05


class Ended(BaseException):
    """Somebody wants the harness to end. No ``except Exception`` keeps it from that."""


@dataclass
class _State:
    """What has come, and where the harness is."""

    told: bool = False
    """Whether a signal has come."""
    heard: bool = False
    """Whether the main thread knows of it."""
    raises: bool = False
    """Whether the main thread is where it may raise ``Ended``."""
    notes: list[str] = field(default_factory=list)


_state = _State()


def own_from_the_start() -> None:
    """Signals end this process at once until ``owned``, and mean nothing after it.

    At first there is nothing yet to end in order; at last all is written, and said. It inherits
    what its descendants leave behind: whatever leaves the group of a run is ended, too.
    """
    trees.adopt_orphans()
    for number in _heeded():
        signal.signal(number, _exit_at_once)


@contextmanager
def owned() -> Iterator[None]:
    """Signals mean for the time of the block what this module says. The main thread only."""
    _state.told = _state.heard = False
    _state.notes.clear()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    poked = signal.signal(_POKE, lambda _number, _frame: None)
    waking = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading,), daemon=True).start()
    before = {number: signal.signal(number, _end) for number in _heeded()}
    try:
        yield
    finally:
        for number, handler in before.items():
            # Ignored, not ended at once: the interpreter takes that back before it is gone.
            signal.signal(number, signal.SIG_IGN if handler is _exit_at_once else handler)
        signal.set_wakeup_fd(waking)
        os.close(writing)  # that ends the thread
        signal.signal(_POKE, poked)
        _state.told = _state.heard = False


def _heeded() -> list[signal.Signals]:
    """What nohup, or a shell's background job, has us ignore stays ignored."""
    return [one for one in _SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]


@contextmanager
def interruptible() -> Iterator[None]:
    """The first signal raises ``Ended`` in this block only, even if it came before."""
    try:
        _state.raises = True
        if was_ended():
            raise Ended
        yield
    finally:
        _state.raises = False


@contextmanager
def noted(text: str) -> Iterator[None]:
    """If the harness is ended within the block, this is what the user is told."""
    _state.notes.append(text)
    yield
    # Not where an exception leaves the block: whoever says so comes later.
    _state.notes.remove(text)


def note() -> str:
    """What to tell the user who ended it."""
    return _state.notes[-1] if _state.notes else "Nothing had been measured."


def has_note() -> bool:
    """Whether something is under way of which the user is to be told."""
    return bool(_state.notes)


def was_ended() -> bool:
    """Whether a signal has been received."""
    return _state.told


def kill_descendants() -> None:
    """Kills whatever this process has started, and what that has started; not the guard."""
    guard = GUARD.number or 0
    trees.kill(lambda: trees.below(os.getpid(), without=(guard,)), within_s=_KILLED_WITHIN_S)


def _end(*_signal: object) -> None:
    _state.told = True
    if not _state.heard:
        _state.heard = True
        if _state.raises:
            raise Ended


def _watch(reading: int) -> None:
    """Keeps the clock from the first signal on. It ends when nobody writes to the pipe any more."""
    first_s: float | None = None
    while True:
        # Until then it blocks, and costs nothing while something is measured.
        if select.select([reading], [], [], first_s and _POKE_EVERY_S)[0]:
            numbers = os.read(reading, 64)
            if not numbers:
                os.close(reading)
                return
            # The number of every signal that has a handler, those of this thread among them.
            if first_s is None and any(number in _SIGNALS for number in numbers):
                first_s, _state.told = time.monotonic(), True
        if first_s is None:
            continue
        passed_s = time.monotonic() - first_s
        if passed_s >= _ORDERLY_S:
            kill_descendants()
        if passed_s >= _AT_LAST_S:
            _exit_at_once()
        if not _state.heard:
            signal.pthread_kill(threading.main_thread().ident or 0, _POKE)


def _exit_at_once(*_signal: object) -> NoReturn:
    with suppress(OSError, ValueError):
        # Nobody may be reading what is said, and that must not keep us.
        if select.select([], [sys.stderr], [], 0)[1]:
            said = f"\ninterrupted at once. {printable(note())}\n"
            os.write(sys.stderr.fileno(), said.encode("utf-8", "replace"))
    os._exit(ExitCode.INTERRUPTED)

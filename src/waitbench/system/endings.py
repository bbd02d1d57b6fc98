"""How the harness ends when it is told to: the one place that owns its signals.

The first signal ends everything in order, by an exception in the main thread, and whatever runs is
killed soon after, so that no thread waits for a download. A second one cannot interrupt that. A
third kills at once, as does the clock: whoever asked for an end has it within seconds.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType

import psutil

from waitbench.model.errors import ExitCode
from waitbench.system.guard import GUARD
from waitbench.system.streams import printable

_Handler = Callable[[int, FrameType | None], object] | int | None

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ORDERLY_S = 1.0
"""What was started has so long to end by itself."""
_AT_LAST_S = 3.0
"""After this the harness is gone, whatever it is doing."""
_ENOUGH = 3
"""So many signals end it at once."""
_POKE = signal.SIGURG
"""Means nothing, but has the main thread stop waiting, and run its handlers."""
_POKE_EVERY_S = 0.05
_MOST_GENERATIONS = 20
"""How often to look for what was started while the others were being killed."""


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

    At first there is nothing yet to end in order; at last all is written, and said.
    """
    _handle_all(_outside)


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
    before = _handle_all(_end)
    try:
        yield
    finally:
        for number, handler in before.items():
            # Ignored, not ``_outside`` again: the interpreter takes that back before it is gone.
            signal.signal(number, signal.SIG_IGN if handler is _outside else handler)
        signal.set_wakeup_fd(waking)
        os.close(writing)  # that ends the thread
        signal.signal(_POKE, poked)
        _state.told = _state.heard = False


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
    for _ in range(_MOST_GENERATIONS):
        found = [one for one in psutil.Process().children(recursive=True) if _is_to_die(one)]
        if not found:
            return
        for child in found:
            with suppress(psutil.Error):
                child.kill()


def _is_to_die(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.pid != GUARD.number and process.status() != psutil.STATUS_ZOMBIE
    return False


def _handle_all(handler: _Handler) -> dict[signal.Signals, _Handler]:
    """Sets the handler of all signals; those of before."""
    # What nohup, or a shell's background job, has us ignore stays ignored.
    before = {
        number: found
        for number in _SIGNALS
        if (found := signal.getsignal(number)) is not signal.SIG_IGN
    }
    for number in before:
        signal.signal(number, handler)
    return before


def _outside(_number: int, _frame: FrameType | None) -> None:
    _exit_at_once()


def _end(_number: int, _frame: FrameType | None) -> None:
    _state.told = True
    if not _state.heard:
        _state.heard = True
        if _state.raises:
            raise Ended


def _watch(reading: int) -> None:
    """Keeps the clock from the first signal on. It ends when nobody writes to the pipe any more."""
    signals, first_s, killed = 0, 0.0, False
    while True:
        # Until then it blocks, and costs nothing while something is measured.
        if select.select([reading], [], [], _POKE_EVERY_S if signals else None)[0]:
            numbers = os.read(reading, 64)
            if not numbers:
                os.close(reading)
                return
            # The number of every signal that has a handler, those of this thread among them.
            came = sum(number in _SIGNALS for number in numbers)
            if came and not signals:
                first_s = time.monotonic()
                _state.told = True
            signals += came
        if not signals:
            continue
        passed_s = time.monotonic() - first_s
        if signals >= _ENOUGH or passed_s >= _AT_LAST_S:
            _kill_at_once()
        if passed_s >= _ORDERLY_S and not killed:
            killed = True
            kill_descendants()
        if not _state.heard:
            signal.pthread_kill(threading.main_thread().ident or 0, _POKE)


def _kill_at_once() -> None:
    kill_descendants()
    _exit_at_once()


def _exit_at_once() -> None:
    with suppress(OSError, ValueError):
        # Nobody may be reading what is said, and that must not keep us.
        if select.select([], [sys.stderr], [], 0)[1]:
            said = f"\ninterrupted at once. {printable(note())}\n"
            os.write(sys.stderr.fileno(), said.encode("utf-8", "replace"))
    os._exit(ExitCode.INTERRUPTED)

"""How the harness ends when it is told to: the one place that owns its signals.

The first signal ends everything in order, by an exception in the main thread, and whatever runs is
killed soon after, so that no thread waits for a download. A second one cannot interrupt that; the
clock can: whoever asked for an end has it within seconds.

Python runs a handler in the main thread only, and a signal does not interrupt that if it comes just
before the main thread begins to wait, or reaches another thread. So a thread of ours hears of each
signal, by ``signal.set_wakeup_fd``, keeps the clock, and pokes the main thread until it has heard.
"""

import atexit
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

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

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


class Ended(BaseException):
    """Somebody wants the harness to end. No ``except Exception`` keeps it from that."""


@dataclass
class _State:
    """What has come, and where the main thread is."""

    has_begun: bool = False
    """Whether there is anything to end in order."""
    raises: bool = False
    """Whether the main thread is where it may raise ``Ended``."""
    was_ended: bool = False
    """Whether a signal has come since it began."""
    notes: list[str] = field(default_factory=list)


_state = _State()


def own_signals() -> None:
    """From now on signals mean what this module says. To be called once, by the main thread.

    They end this process at once until there is something to end in order, and mean nothing when
    all is said. What leaves the group of a run is inherited, and so found and ended, too.
    """
    trees.adopt_orphans()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading,), daemon=True).start()
    signal.signal(_POKE, lambda *_: None)
    for number in _SIGNALS:
        # What nohup, or a shell's background job, has us ignore stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
            # The interpreter takes a handler back before it is gone.
            atexit.register(signal.signal, number, signal.SIG_IGN)


@contextmanager
def interruptible() -> Iterator[None]:
    """The first signal raises ``Ended`` in this block only."""
    try:
        _state.has_begun = _state.raises = True
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
    return _state.was_ended


def kill_descendants() -> None:
    """Kills whatever this process has started, and what that has started; not the guard."""
    guard = GUARD.number or 0
    trees.kill(lambda: trees.below(os.getpid(), without=(guard,)), within_s=_KILLED_WITHIN_S)


def side_by_side(
    call: Callable[[_Given], _Made], those: Sequence[_Given], at_most: int | None = None
) -> list[_Made]:
    """What ``call`` makes of each, in threads that begin in this order, so many at a time.

    If it is ended, so is what they wait for: Ctrl-C reaches the main thread only. One alone needs
    no thread.
    """
    if len(those) == 1:
        return [call(those[0])]
    with ThreadPoolExecutor(at_most or max(1, len(those))) as pool:
        try:
            return list(pool.map(call, those))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            kill_descendants()
            raise


def _end(*_signal: object) -> None:
    if not _state.has_begun:
        _exit_at_once()
    was_ended, _state.was_ended = _state.was_ended, True
    if _state.raises and not was_ended:
        raise Ended


def _watch(reading: int) -> None:
    """Keeps the clock from the first signal on."""
    # It blocks until then, and costs nothing. Told is every signal that has a handler.
    while not any(number in _SIGNALS for number in os.read(reading, 64)):
        pass
    first_s = time.monotonic()
    while (passed_s := time.monotonic() - first_s) < _AT_LAST_S:
        if passed_s >= _ORDERLY_S:
            kill_descendants()
        if not _state.was_ended:
            signal.pthread_kill(threading.main_thread().ident or 0, _POKE)
        time.sleep(_POKE_EVERY_S)
    _exit_at_once()


def _exit_at_once() -> NoReturn:
    with suppress(OSError, ValueError):
        # Nobody may be reading what is said, and that must not keep us.
        if select.select([], [sys.stderr], [], 0)[1]:
            said = f"\ninterrupted at once. {printable(note())}\n"
            os.write(sys.stderr.fileno(), said.encode("utf-8", "replace"))
    os._exit(ExitCode.INTERRUPTED)

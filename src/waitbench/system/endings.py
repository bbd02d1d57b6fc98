"""Shutdown on signals; the only module that handles them.

The first signal raises an exception in the main thread for an orderly end, which a second one does
not interrupt. Children are killed soon after, and the process exits within seconds in any case.

Python runs handlers in the main thread only, and a signal that arrives just before the main thread
blocks, or in another thread, does not wake it. So a watcher thread receives each signal through
``signal.set_wakeup_fd``, keeps the time limits, and pokes the main thread until its handler ran.
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
from waitbench.system.orphan_reaper import REAPER
from waitbench.system.streams import printable

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_KILL_AFTER_S = 1.0
_EXIT_AFTER_S = 3.0
_KILLED_WITHIN_S = 1.0
_POKE = signal.SIGURG
"""Only makes the main thread stop waiting and run its handlers."""
_POKE_EVERY_S = 0.05

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


class Ended(BaseException):
    """The user interrupted the harness; not caught by ``except Exception``."""


@dataclass
class _State:
    has_begun: bool = False
    """Whether there is anything to end in order."""
    raises: bool = False
    """Whether the main thread may raise ``Ended`` now."""
    was_ended: bool = False
    notes: list[str] = field(default_factory=list)


_state = _State()


def own_signals() -> None:
    """Installs the handlers; to be called once, by the main thread.

    Before ``interruptible``, signals end this process at once; at exit they are ignored.
    """
    trees.adopt_orphans()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading,), daemon=True).start()
    signal.signal(_POKE, lambda *_: None)
    for number in _SIGNALS:
        # Signals that nohup, or a shell's background job, ignores stay ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
            # The interpreter removes handlers before it exits.
            atexit.register(signal.signal, number, signal.SIG_IGN)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises ``Ended`` within the block on the first signal."""
    try:
        _state.has_begun = _state.raises = True
        yield
    finally:
        _state.raises = False


@contextmanager
def noted(text: str) -> Iterator[None]:
    """Sets the message for an interruption within the block."""
    _state.notes.append(text)
    yield
    # Not in a ``finally``: the message of an interruption is printed after the block.
    _state.notes.remove(text)


def note() -> str:
    return _state.notes[-1] if _state.notes else "Nothing had been measured."


def has_note() -> bool:
    return bool(_state.notes)


def was_ended() -> bool:
    return _state.was_ended


def kill_descendants() -> None:
    """Kills all descendants but the reaper."""
    reaper = REAPER.number or 0
    trees.kill(lambda: trees.below(os.getpid(), without=(reaper,)), within_s=_KILLED_WITHIN_S)


def side_by_side(
    call: Callable[[_Given], _Made], arguments: Sequence[_Given], at_most: int | None = None
) -> list[_Made]:
    """Maps ``call`` over arguments in threads, started in order, ``at_most`` at a time."""
    if len(arguments) == 1:
        return [call(arguments[0])]
    with ThreadPoolExecutor(at_most or max(1, len(arguments))) as pool:
        try:
            return list(pool.map(call, arguments))
        except BaseException:
            # Ctrl-C reaches the main thread only: end the processes the others wait for.
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
    # Blocks until the first of our signals; the descriptor gets every signal with a handler.
    while not any(number in _SIGNALS for number in os.read(reading, 64)):
        pass
    first_s = time.monotonic()
    while (passed_s := time.monotonic() - first_s) < _EXIT_AFTER_S:
        if passed_s >= _KILL_AFTER_S:
            kill_descendants()
        if not _state.was_ended:
            signal.pthread_kill(threading.main_thread().ident or 0, _POKE)
        time.sleep(_POKE_EVERY_S)
    _exit_at_once()


def _exit_at_once() -> NoReturn:
    with suppress(OSError, ValueError):
        # A full pipe that nobody reads must not block the exit.
        if select.select([], [sys.stderr], [], 0)[1]:
            message = f"\ninterrupted at once. {printable(note())}\n"
            os.write(sys.stderr.fileno(), message.encode("utf-8", "replace"))
    os._exit(ExitCode.INTERRUPTED)

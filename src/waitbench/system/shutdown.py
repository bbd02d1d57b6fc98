"""Shutdown on signals and after crashes, in the process of waitbench itself, the harness.

Its parent process, ``supervisor``, starts it, and outlives it to end whatever it leaves behind.

The first signal raises an exception in the main thread, for an orderly end that further signals do
not interrupt. ``supervisor`` repeats the signal until the main thread has handled it, kills
children soon after, and the harness within seconds.
"""

import atexit
import errno
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from waitbench.model.errors import ExitCode, masked, sanitize
from waitbench.system import supervisor
from waitbench.system.installation import program_name
from waitbench.system.paths import Cache

_SYSTEM_ERRORS = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOMEM,
    errno.EMFILE, errno.ENFILE, errno.EAGAIN,
}  # fmt: skip
"""Errors of the system, such as a full disk, that need no traceback."""

_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")


class Interrupted(BaseException):
    """An interruption by the user. ``except Exception`` does not catch it."""


class _State:
    has_begun = False
    """Whether ``interruptible`` was entered: nothing before it needs an orderly end."""
    may_raise = False
    """Whether the main thread is within ``interruptible``."""
    was_interrupted = False


_state = _State()
_advice: list[tuple[Path, str]] = []


def handle_signals() -> None:
    """Installs the signal handlers; to be called once, by the main thread.

    Before ``interruptible``, signals end this process immediately. At exit they are ignored.
    """
    for number in supervisor.SIGNALS:
        # nohup, and shells for background jobs, make programs ignore signals: these stay ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
            # The interpreter removes handlers before it exits.
            atexit.register(signal.signal, number, signal.SIG_IGN)


@contextmanager
def interruptible() -> Iterator[None]:
    """Makes the first signal within the block raise ``Interrupted``."""
    try:
        _state.has_begun = _state.may_raise = True
        yield
    finally:
        _state.may_raise = False


@contextmanager
def advice_if_interrupted(folder: Path, text: str) -> Iterator[None]:
    """Sets the advice to print after an interruption in the block, if the folder has files then."""
    _advice.append((folder, text))
    yield
    # Not in a ``finally``: after an interruption, the advice is printed outside of the block.
    _advice.remove((folder, text))


def advice() -> str:
    return _advice[-1][1] if has_advice() else "Nothing had been measured."


def has_advice() -> bool:
    return bool(_advice) and _advice[-1][0].is_dir() and any(_advice[-1][0].iterdir())


def was_interrupted() -> bool:
    return _state.was_interrupted


def run_parallel(
    call: Callable[[_Argument], _Result], arguments: Sequence[_Argument], at_most: int | None = None
) -> list[_Result]:
    """Maps ``call`` over arguments in threads, started in order, ``at_most`` at a time.

    An interruption reaches the main thread only. The other threads end as the supervisor kills the
    processes that they wait for.
    """
    if len(arguments) == 1:
        return [call(arguments[0])]
    with ThreadPoolExecutor(at_most or max(1, len(arguments))) as pool:
        try:
            return list(pool.map(call, arguments))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _interrupt(*_signal: object) -> None:
    if not _state.has_begun:
        os._exit(ExitCode.INTERRUPTED)
    was_interrupted, _state.was_interrupted = _state.was_interrupted, True
    if _state.may_raise and not was_interrupted:
        raise Interrupted


def explain_crash(error: Exception) -> str:
    """Returns a message for the user, and logs the traceback unless the system reports an error."""
    if isinstance(error, OSError) and error.errno in _SYSTEM_ERRORS:
        path = f"{error.filename}: " if error.filename else ""
        return masked(f"the system reports an error: {path}{error.strerror}.")
    if isinstance(error, ImportError):
        return f"{error}. In a clone, remove .bench/venv: the next start installs it again."
    details = masked("".join(traceback.format_exception(error)))
    text = masked(" ".join(f"{type(error).__name__}: {error}".split()))[:300]
    message = f"an unexpected error: {text}."
    log = Cache().root / "logs" / f"crash-{time.strftime('%Y%m%d-%H%M%S')}.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"{' '.join(map(masked, sys.argv))}\n{details}", "utf-8", "replace")
    except OSError:
        return f"{message} Please report it:\n{details}"
    return f"{message} The details are in {log}; please report it with them."


def end_crashed(
    _type: type[BaseException], error: BaseException, _traceback: TracebackType | None
) -> None:
    """Ends this process with exit code 3. Python's own code, 1, means a regression."""
    message = f"{type(error).__name__}: {error}"
    with suppress(OSError):
        if isinstance(error, Exception):
            message = explain_crash(error)
    with suppress(OSError):
        print(sanitize(f"{program_name()}: {message}"), file=sys.stderr, flush=True)
    os._exit(ExitCode.FAILED)


def open_closed_streams() -> None:
    """Opens closed standard streams: else printed text would end up in the next file opened."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # ``open`` takes the lowest free number.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)

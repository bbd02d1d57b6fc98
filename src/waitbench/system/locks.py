"""File locks, and folders that are removed at the latest when this process ends."""

import fcntl
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from waitbench.model.errors import HarnessError
from waitbench.system import files, supervisor
from waitbench.system.paths import Cache

PATIENCE_S = 1.0
"""The time after which a wait is reported."""
_RETRY_EVERY_S = 0.02


@contextmanager
def locked(path: Path, say: Callable[[str], None] = lambda _message: None) -> Iterator[int]:
    """Holds the lock of a file within the block; yields its descriptor. Raises ``HarnessError``.

    A process that inherits the descriptor keeps the lock. Reports a long wait with ``say``.
    """
    try:
        # Links are not followed, as they may lead to another user's file.
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise HarnessError(f"{path} cannot be locked: {error.strerror}.") from error
    try:
        end = time.monotonic() + PATIENCE_S
        while not try_lock(descriptor):
            if time.monotonic() >= end:
                say("waiting for another process, which sets up the same")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                break
            time.sleep(_RETRY_EVERY_S)
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def measuring() -> AbstractContextManager[int]:
    """Excludes other measurements of this user on this host within the block."""
    path = Path(tempfile.gettempdir()) / f"waitbench-{os.getuid()}.lock"
    return locked(path)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yields a new folder in the cache, removed after the block, or by the supervisor."""
    folder = Cache().folder("temporary") / f"{supervisor.PREFIX}-{secrets.token_hex(4)}"
    folder.mkdir()
    try:
        yield folder
    finally:
        files.remove(folder)
        files.remove(Cache().bytecode(folder.resolve()))

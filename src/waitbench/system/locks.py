"""Locks that say that they wait, and folders that are their owner's as long as it lives."""

import fcntl
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from waitbench.model.errors import HarnessError
from waitbench.system import files
from waitbench.system.guard import GUARD
from waitbench.system.places import Cache

PATIENCE_S = 1.0
"""Who waits no longer than this says nothing."""
_AGAIN_S = 0.02
_LOCK = ".lock"
"""The file in a run's folder that its owner holds."""


@contextmanager
def locked(path: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Holds the lock of a file for the time of the block.

    ``say`` is told where another process holds it for more than a moment. Gives the descriptor of
    the lock: it is held until all who have one are gone. Raises ``HarnessError``.
    """
    try:
        # Not somebody else's file, which a link might lead to.
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
            time.sleep(_AGAIN_S)
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Takes the lock of an open file or folder, unless somebody else has it; says whether."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def measuring() -> AbstractContextManager[int]:
    """No other worker measures on this host for the time of the block."""
    path = Path(tempfile.gettempdir()) / f"waitbench-{os.getuid()}.lock"
    return locked(path, lambda _who: None)


@contextmanager
def own_folder(parent: Path) -> Iterator[Path]:
    """An empty folder, for the time of the block; clears away those whose owners are gone.

    A process number does not tell owners apart: two containers may share one checkout. So the name
    is random, and its owner holds a lock in it. Whoever comes later clears away what nobody holds,
    if the guard of a process that was killed did not.
    """
    clear_folders(parent)
    folder = parent / f"{os.getpid()}-{secrets.token_hex(4)}"
    GUARD.clear(folder)
    folder.mkdir()
    with (folder / "new").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Whoever sees the lock finds it held.
        (folder / "new").rename(folder / _LOCK)
        try:
            yield folder
        finally:
            files.remove(folder)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty folder for the time of the block, which a process that is killed leaves to nobody.

    What lies in the system's folder of such would stay there.
    """
    with own_folder(Cache().folder("temporary")) as folder:
        yield folder


def clear_folders(parent: Path) -> None:
    """Removes the folders whose locks nobody holds."""
    for lock in parent.glob(f"*/{_LOCK}"):
        with suppress(OSError), files.open_file(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            files.remove(lock.parent)

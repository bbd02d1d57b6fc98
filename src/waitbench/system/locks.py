"""Locks that say for whom they wait, and folders that are their owner's as long as it lives."""

import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from waitbench.model.errors import HarnessError
from waitbench.system.guard import GUARD
from waitbench.system.places import Cache

PATIENCE_S = 1.0
"""Who waits no longer than this says nothing."""
_LOCK = ".lock"
"""The file in a run's folder that its owner holds."""


@contextmanager
def locked(path: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock of a file for the time of the block.

    ``say`` is told where another process holds it for more than a moment, and which one.
    """
    lock, holder = FileLock(path), path.with_name(f"{path.name}.holder")
    try:
        lock.acquire(timeout=PATIENCE_S)
    except Timeout:
        say(f"waiting for {_name_in(holder)}, which sets up the same")
        lock.acquire()
    try:
        # Only who waits reads it: where it cannot be written, that is less to say and no error.
        with suppress(OSError):
            holder.write_text(f"process {os.getpid()} ({os.environ.get('BENCH_PROGRAM', '')})")
        yield
    finally:
        with suppress(OSError):
            holder.unlink()
        lock.release()


def _name_in(holder: Path) -> str:
    with suppress(OSError):
        return holder.read_text("utf-8").removesuffix(" ()") or "another process"
    return "another process"


@contextmanager
def measuring() -> Iterator[int]:
    """No other worker measures on this host for the time of the block.

    Gives the descriptor of the lock: it is held until all who have one are gone.
    """
    path = Path(tempfile.gettempdir()) / f"waitbench-{os.getuid()}.lock"
    try:
        # Not somebody else's file, which a link might lead to.
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise HarnessError(
            f"{path}, by which workers of one host take turns, cannot be opened: "
            f"{error.strerror}. Remove it, or set TMPDIR."
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


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
            shutil.rmtree(folder, ignore_errors=True)


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
        with suppress(OSError), lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)

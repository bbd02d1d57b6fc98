"""Locks that say for whom they wait."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

PATIENCE_S = 1.0
"""Who waits no longer than this says nothing."""


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

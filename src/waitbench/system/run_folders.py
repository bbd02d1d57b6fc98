"""Folders of runs: one each, never another's, and none left behind for long.

A process number does not tell owners apart: two containers may share one checkout. So a folder's
name is random, its owner holds a lock beside it, and whoever comes later clears away what nobody
holds.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX = ".lock"
_YOUNG_S = 60.0
"""A lock file this young may not be locked yet."""


@contextmanager
def own(parent: Path) -> Iterator[Path]:
    """An empty folder, for the time of the block; clears away those whose owners are gone."""
    clear(parent)
    descriptor, name = tempfile.mkstemp(_SUFFIX, f"{os.getpid()}-", parent)
    lock = Path(name)
    folder = lock.with_suffix("")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        folder.mkdir()
        yield folder
    finally:
        _remove(folder, lock)
        os.close(descriptor)


def clear(parent: Path) -> None:
    """Removes the folders that nobody holds."""
    for lock in parent.glob(f"*{_SUFFIX}"):
        with suppress(OSError), lock.open() as file:
            if time.time() - os.fstat(file.fileno()).st_mtime < _YOUNG_S:
                continue
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(lock.with_suffix(""), lock)


def _remove(folder: Path, lock: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.unlink(missing_ok=True)

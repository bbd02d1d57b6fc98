"""Taking turns on one host: several workers of it measure one after the other.

Nothing is prepared while somebody measures, either: that would be other work of the machine. So
whoever prepares shares a lock, and whoever measures has it alone. A process that waits for it is
blocked in the kernel and costs nothing; the kernel takes it back from one that dies.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waitbench.model.errors import MachineError


@contextmanager
def preparing() -> Iterator[None]:
    """Nobody measures on this host for the time of the block."""
    with _locked(fcntl.LOCK_SH):
        yield


@contextmanager
def measuring() -> Iterator[None]:
    """Nobody else measures or prepares on this host for the time of the block."""
    with _locked(fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(how: int) -> Iterator[None]:
    path = Path(tempfile.gettempdir()) / f"waitbench-{os.getuid()}.lock"
    try:
        # Not somebody else's file, which a link might lead to.
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise MachineError(
            f"{path}, by which workers of one host take turns, cannot be opened: "
            f"{error.strerror}. Remove it, or set TMPDIR."
        ) from error
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)

"""Writing files so that a reader, or a crash, never meets half of one."""

import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from waitbench.model.errors import HarnessError, UsageError

HALF = ".part"
"""How the name of a file ends that is being written."""
_MOST_OF_NAME = 200
"""A name may have 255 bytes, with what is put before and after it."""


def is_there(path: str | Path) -> bool:
    """Whether there is anything; ``False``, too, where it cannot be known (a name too long, …)."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: str | Path) -> bool:
    """Whether this is a file, or a link to one; see ``is_there``."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | Path) -> bool:
    """Whether this is a folder, or a link to one; see ``is_there``."""
    return os.path.isdir(path)  # noqa: PTH112


def write_text(path: Path, text: str) -> None:
    """Writes a file under another name, then renames it. Raises ``HarnessError``."""
    write_with(path, lambda partial: _write_durably(partial, text))


def write_with(path: Path, write: Callable[[Path], None]) -> None:
    """Has ``write`` write a file under another name, then renames it. Raises ``HarnessError``.

    A link stays one: what it leads to is written. So is a device or a pipe, which cannot be
    replaced.
    """
    if _is_device(path):
        try:
            write(path)
        except OSError as error:
            raise HarnessError(f"{path} cannot be written: {error.strerror}.") from error
        return
    path = Path(os.path.realpath(path))
    # Threads may write the same file, too: such as four that fetch one wheel.
    writer = f"{os.getpid()}-{threading.get_native_id()}"
    partial = path.with_name(f".{path.name[:_MOST_OF_NAME]}.{writer}{HALF}")
    try:
        write(partial)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise HarnessError(
            f"{path} cannot be written: {error.strerror}. What was there before is untouched."
        ) from error


def require_writable(path: Path) -> None:
    """Raises ``UsageError`` for a file that could not be written later."""
    if _is_device(path):
        return
    target = Path(os.path.realpath(path))
    if is_folder(target):
        raise UsageError(f"{str(path)!r} is a folder, not a file to write to.")
    if not is_folder(target.parent):
        raise UsageError(f"{str(path)!r}: there is no folder {str(target.parent)!r}.")
    # The file is replaced, so it is the folder that counts.
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{str(path)!r} cannot be written: {str(target.parent)!r} is read-only.")


def append_line(path: Path, line: str) -> None:
    """Adds a line to a file, on the disk when this returns.

    Raises ``HarnessError`` when the disk refuses; no part of the line is there then.
    """
    size = path.stat().st_size if is_file(path) else None
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            _to_disk(file)
    except OSError as error:
        if size is not None:
            with suppress(OSError):
                os.truncate(path, size)
        raise HarnessError(f"{path} cannot be added to: {error.strerror}.") from error


def _is_device(path: Path) -> bool:
    """Whether this is neither a file nor a folder, but there: a device, a pipe, a terminal."""
    return is_there(path) and not is_file(path) and not is_folder(path)


def _write_durably(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        _to_disk(file)


def _to_disk(file: IO[str]) -> None:
    file.flush()
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # a device has no disk
        os.fsync(file.fileno())

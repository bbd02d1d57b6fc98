"""Safe reading of untrusted files, and atomic writing.

Code under test, or the author of a results folder, can put a link, a pipe or a device in place of a
file. ``open_file`` and ``read`` refuse these, unless the user named the file (``named``): else a
link could lead anywhere, a pipe block, and a device never end.
"""

import errno
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from waitbench.model.errors import HarnessError

PARTIAL = ".part"
"""Suffix of a file that is being written."""
MOST_BYTES = 2**28
"""The size limit of a file to read, in bytes; reading a larger one fails."""
MOST_OUTPUT = 16 * 2**20
"""The limit of each output of a program, in bytes."""
_SAFE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK_BYTES = 2**20
_MOST_DOTS = 200
_Kind = TypeVar("_Kind")


def is_there(path: str | Path) -> bool:
    """Like ``Path.exists``, but ``False`` for a path that the system rejects as too long."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: str | Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112


def open_file(path: Path) -> IO[bytes]:
    """Opens a file for reading. Raises ``OSError``, also for a link, a pipe or a device."""
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | _SAFE_FLAGS), "rb")
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, "it is a link", str(path)) from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return file


def parse_toml(content: bytes, into: type[_Kind]) -> _Kind:
    """Parses TOML into a type. Raises ``ValueError``."""
    # Imported late: launchers import this module, and their start counts as a run's real time.
    import msgspec

    try:
        # Each dot of a key nests a dictionary; Python crashes when it frees deeply nested ones.
        if any(part.count(b".") > _MOST_DOTS for part in re.split(rb"[=\n]", content)):
            raise RecursionError
        return msgspec.toml.decode(content, type=into)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def sha256(path: Path) -> str:
    """Returns the digest of a file's content, or an empty string if it cannot be read."""
    # Imported late: launchers import this module, and their start counts as a run's real time.
    import hashlib

    digest = hashlib.sha256()
    if not is_file(path):
        return ""
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()


def read(path: Path, *, named: bool = False, most: int = MOST_BYTES) -> bytes:
    """Reads a file; if ``named`` by the user, also a link or a pipe. Raises ``OSError``."""
    with path.open("rb") if named else open_file(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 20} MiB", str(path))
    return content


def write_text(path: Path, text: str, *, named: bool = False) -> None:
    """Replaces a file atomically. Raises ``HarnessError``.

    A file ``named`` by the user is written in place, as it may be a link, a device or a pipe.
    """
    if not named:
        write_with(path, lambda partial: _write_durably(partial, text))
        return
    try:
        _write_durably(path, text)
    except OSError as error:
        raise HarnessError(f"{path} cannot be written: {error.strerror}.") from error


def write_with(path: Path, write: Callable[[Path], object]) -> None:
    """Lets ``write`` write a new file, which then replaces ``path``. Raises ``HarnessError``."""
    # A random name: no other program can have put a link there, and no other thread uses it.
    partial = path.with_name(f".{os.urandom(8).hex()}{PARTIAL}")
    try:
        write(partial)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise HarnessError(
            f"{path} cannot be written: {error.strerror}. The earlier file, if any, is unchanged."
        ) from error


def append_line(path: Path, line: str) -> None:
    """Appends a line and syncs it to disk. Raises ``HarnessError``; no partial line is left."""
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFE_FLAGS
        with os.fdopen(os.open(path, flags, 0o666), "wb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            left = memoryview(f"{line}\n".encode("utf-8", "replace"))
            try:
                while left:
                    left = left[file.write(left) :]
                _to_disk(file)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(file.fileno(), size)
                raise
    except OSError as error:
        raise HarnessError(f"{path} cannot be added to: {error.strerror}.") from error


def remove(folder: Path) -> None:
    """Removes a folder of any depth, as far as permitted, even if its files are read-only."""
    top = os.fspath(folder)
    if folder.is_symlink():
        folder.unlink()
        return
    folders = [top]
    for path in folders:  # the loop appends to it
        with suppress(OSError):
            os.chmod(path, 0o700)  # noqa: PTH101
            for entry in [*os.scandir(path)]:
                with suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.path)  # noqa: PTH108
                        continue
                    os.chmod(entry.path, 0o700)  # noqa: PTH101  # needed to move it
                    # Moved to the top, as deep paths would be too long.
                    folders.append(f"{top}/{os.urandom(8).hex()}")
                    os.rename(entry.path, folders[-1])  # noqa: PTH104
    for path in reversed(folders):
        with suppress(OSError):
            os.rmdir(path)  # noqa: PTH106


def _write_durably(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", errors="replace") as file:
        file.write(text)
        _to_disk(file)


def _to_disk(file: IO[Any]) -> None:
    file.flush()
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # no device
        os.fsync(file.fileno())

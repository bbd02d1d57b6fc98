"""Files that others may write or have written, and writing so that nobody meets half of one.

Code under test can put a link, a pipe or a device in the place of what it is to write, and so can
whoever made a folder of results. Nothing here follows such a link, waits for the other end of such
a pipe, or reads without end; but where the user has named a file, it may be any of these.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from waitbench.model.errors import HarnessError, UsageError

HALF = ".part"
"""How the name of a file ends that is being written."""
MOST_BYTES = 2**28
"""What is read of a file at the most."""
_STRANGE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PART_BYTES = 2**20


def is_there(path: str | Path) -> bool:
    """Whether there is anything; ``False``, too, where it cannot be known (a name too long, …)."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: str | Path) -> bool:
    """Whether this is a file, or a link to one; see ``is_there``."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | Path) -> bool:
    """Whether this is a folder, or a link to one; see ``is_there``."""
    return os.path.isdir(path)  # noqa: PTH112


def open_file(path: Path) -> IO[bytes]:
    """Opens a file to read it. Raises ``OSError``, too, for what is none, such as a link."""
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | _STRANGE), "rb")
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, "it is a link", str(path)) from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return file


def sha256(path: Path) -> str:
    """The digest of a file's content; empty where it cannot be read, or is no file."""
    digest = hashlib.sha256()
    if not is_file(path):
        return ""
    try:
        with path.open("rb") as file:
            while part := file.read(_PART_BYTES):
                digest.update(part)
    except OSError:
        return ""
    return digest.hexdigest()


def read(path: Path, *, named: bool = False, most: int = MOST_BYTES) -> bytes:
    """The content of a file. Raises ``OSError``, too, where it has more than so many bytes.

    ``named``: by the user, so it may be a link or a pipe.
    """
    with path.open("rb") if named else open_file(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 20} MiB", str(path))
    return content


def write_text(path: Path, text: str, *, named: bool = False) -> None:
    """Writes a file under another name, then renames it. Raises ``HarnessError``.

    ``named``: by the user. Then a link stays one, and what it leads to is written; so is a device
    or a pipe, which cannot be replaced.
    """
    if not named:
        write_with(path, lambda partial: _write_durably(partial, text))
    elif not _is_device(path):
        write_text(Path(os.path.realpath(path)), text)
    else:
        try:
            _write_durably(path, text)
        except OSError as error:
            raise HarnessError(f"{path} cannot be written: {error.strerror}.") from error


def write_with(path: Path, write: Callable[[Path], object]) -> None:
    """Has ``write`` write a file under another name, then renames it. Raises ``HarnessError``."""
    # A name that nobody can have put a link at; threads may write the same file, too.
    partial = path.with_name(f".{os.urandom(8).hex()}{HALF}")
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
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _STRANGE
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
    """Removes as much of a folder as this user may, however deep it is and whatever its modes are.

    Each folder in it is first moved to its top: no path gets too long, and nothing recurses.
    """
    top = os.fspath(folder)
    if folder.is_symlink():
        folder.unlink()
        return
    folders = [top]
    for place in folders:  # which grows meanwhile
        with suppress(OSError):
            os.chmod(place, 0o700)  # noqa: PTH101
            for entry in [*os.scandir(place)]:
                with suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.path)  # noqa: PTH108
                        continue
                    os.chmod(entry.path, 0o700)  # noqa: PTH101  # else it may not be moved
                    folders.append(f"{top}/{os.urandom(8).hex()}")
                    os.rename(entry.path, folders[-1])  # noqa: PTH104
    for place in reversed(folders):
        with suppress(OSError):
            os.rmdir(place)  # noqa: PTH106


def _is_device(path: Path) -> bool:
    """Whether this is neither a file nor a folder, but there: a device, a pipe, a terminal."""
    return is_there(path) and not is_file(path) and not is_folder(path)


def _write_durably(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", errors="replace") as file:
        file.write(text)
        _to_disk(file)


def _to_disk(file: IO[Any]) -> None:
    file.flush()
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # a device has no disk
        os.fsync(file.fileno())

"""Writing files so that a reader, or a crash, never meets half of one."""

import os
from collections.abc import Callable
from pathlib import Path

from waitbench.model.errors import HarnessError


def write_text(path: Path, text: str) -> None:
    """Writes a file under another name, then renames it. Raises ``HarnessError``."""
    write_with(path, lambda partial: _write_durably(partial, text))


def write_with(path: Path, write: Callable[[Path], None]) -> None:
    """Has ``write`` write a file under another name, then renames it. Raises ``HarnessError``."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(partial)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise HarnessError(
            f"{path} cannot be written: {error.strerror}. What was there before is untouched."
        ) from error


def append_line(path: Path, line: str) -> None:
    """Adds a line to a file, on the disk when this returns. Raises ``HarnessError``."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise HarnessError(f"{path} cannot be added to: {error.strerror}.") from error


def _write_durably(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())

"""The folders of comparisons: one each, never overwritten; ``latest`` links to the last."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timezone
from itertools import count
from pathlib import Path

from waitbench.model.errors import UsageError
from waitbench.store.comparisons import MEASURE_FIRST
from waitbench.system import files, locks
from waitbench.system.paths import RESULTS

LATEST = "latest"

_MOST_BYTES = 120
"""The longest name without its number. File systems allow 255."""


@contextmanager
def claimed(
    requested: Path | None,
    labels: Sequence[str] = (),
    *,
    store: Path = RESULTS,
    resumable: Callable[[Path], object] | None = None,
) -> Iterator[Path]:
    """A folder to measure into, locked for the block.

    A new folder is named after the time and the labels of a comparison, and ``latest`` links to it.
    A requested folder must be empty, or hold a comparison that ``resumable`` accepts; to resume,
    the default is the latest. If the block fails, new folders are removed if they are still empty.
    They stay if the harness is interrupted, as its message names the folder to resume. Raises
    ``UsageError``, and changes nothing, if the folder holds anything else or is in use.
    """
    if resumable is not None:
        requested = requested or _latest(store)
    folder = requested or _new_folder(store, labels or ("comparison",))
    new = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    with ExitStack() as stack:
        try:
            with _explained(folder):
                folder.mkdir(parents=True, exist_ok=True)
                # Locking the folder itself leaves no lock file behind.
                descriptor = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                is_empty = not any(folder.iterdir())
            if not locks.try_lock(descriptor):
                new.clear()  # it is theirs
                raise UsageError(
                    f"Another comparison is writing to {str(folder)!r}. "
                    "Wait for it, or name another folder with --results."
                )
            if not is_empty and not (resumable and resumable(folder)):
                why = "is not empty" if resumable is None else "has nothing to resume"
                raise UsageError(
                    f"--results {str(folder)!r} {why}, and nothing in it is overwritten. Name a "
                    "folder that is empty or not there yet, or with --resume one that the same "
                    "command has begun."
                )
            # The lock is ours, so that the writers of these halves are dead.
            for half in folder.glob(f".*{files.HALF}"):
                with suppress(OSError):
                    half.unlink()
            yield folder
        except Exception:
            for path in new:
                with suppress(OSError):  # not empty, or never made
                    path.rmdir()
            raise


def existing_folder(requested: Path | None, *, store: Path = RESULTS) -> Path:
    """The folder to read from: the requested one, or the latest. Raises ``UsageError``."""
    folder = requested or _latest(store)
    if folder is None:
        raise UsageError(f"There are no results yet. {MEASURE_FIRST}")
    if not files.is_folder(folder):
        raise UsageError(f"There is no folder {str(folder)!r}. {MEASURE_FIRST}")
    return folder


def make_subfolder(folder: Path) -> None:
    """Makes a folder within one of results. Raises ``UsageError`` for a link in its place."""
    if folder.is_symlink():
        raise UsageError(
            f"{str(folder)!r} is a link: remove it, or name another folder with --results."
        )
    folder.mkdir(exist_ok=True)


def _latest(store: Path) -> Path | None:
    latest = store / LATEST
    return latest.resolve() if latest.is_dir() else None


def _new_folder(store: Path, labels: Sequence[str]) -> Path:
    latest = store / LATEST
    if latest.exists() and not latest.is_symlink():
        raise UsageError(f"{str(latest)!r} is not a link that waitbench made: move it away.")
    name = _name(labels)
    with _explained(store):
        store.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            folder = store / (name if number == 1 else f"{name}-{number}")
            with suppress(FileExistsError):
                folder.mkdir()
                break
        # Replacing the link is atomic.
        link = folder.with_name(f".{LATEST}.{folder.name}")
        link.symlink_to(folder.name)
        link.replace(latest)
    return folder


def _name(words: Sequence[str]) -> str:
    """A name from the time and sanitised words, valid on every file system."""
    safe = [re.sub(r"[^\w.+]+", "-", word).strip("-.") for word in words]
    name = "-".join([f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}", *filter(None, safe)])
    return name.encode()[:_MOST_BYTES].decode(errors="ignore").rstrip("-.")


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turns errors of the system into a ``UsageError``."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"--results {str(folder)!r} is not a folder that can be written to: {error.strerror}."
        ) from error

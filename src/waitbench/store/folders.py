"""Folders of comparisons, which are never overwritten. ``latest`` links to the newest."""

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
"""The longest name in bytes, without a number at its end. File systems allow 255."""


@contextmanager
def claimed(
    requested: Path | None,
    labels: Sequence[str] = (),
    *,
    store: Path = RESULTS,
    resumable: Callable[[Path], object] | None = None,
) -> Iterator[Path]:
    """Yields a folder to measure into, locked within the block.

    By default, it is a new one, named after the time and ``labels``, to which ``latest`` links. A
    ``requested`` folder must be empty or absent. With ``resumable``, it must have a comparison that
    this function accepts, and the default is the latest folder.

    Raises ``UsageError``, and changes nothing, if the folder has other content or is in use. If the
    block fails or is interrupted, new folders are removed if empty, and ``latest`` links to the
    previous one.
    """
    latest = _latest(store)
    if resumable is not None:
        requested = requested or latest
    place = requested or store
    created = [path for path in (place, *place.parents) if not os.path.lexists(path)]
    folder = requested or _new_folder(store, labels or ("comparison",))
    if requested is None:
        created.insert(0, folder)
    with ExitStack() as stack:
        try:
            with _errors_explained(folder):
                folder.mkdir(parents=True, exist_ok=True)
                # Locking the folder itself leaves no lock file behind.
                descriptor = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                is_empty = not any(folder.iterdir())
            if not locks.try_lock(descriptor):
                created.clear()  # the other comparison has created them
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
            # The processes that were writing these files have ended, as they held the lock.
            for partial in folder.glob(f".*{files.PARTIAL}"):
                with suppress(OSError):
                    partial.unlink()
            yield folder
        except BaseException:
            for path in created:
                with suppress(OSError):  # the folder is not empty, or was never created
                    path.rmdir()
                    link = store / LATEST
                    if requested is None and path == folder and link.resolve() == folder.resolve():
                        _link_latest(store, latest)
            raise


def existing_folder(requested: Path | None, *, store: Path = RESULTS) -> Path:
    """The folder to read: the requested one, or the latest. Raises ``UsageError``."""
    folder = requested or _latest(store)
    if folder is None:
        raise UsageError(f"There are no results yet. {MEASURE_FIRST}")
    if not files.is_folder(folder):
        raise UsageError(f"There is no folder {str(folder)!r}. {MEASURE_FIRST}")
    return folder


def make_subfolder(folder: Path) -> None:
    """Makes a folder in a results folder. Raises ``UsageError`` for a link in its place."""
    if folder.is_symlink():
        raise UsageError(
            f"{str(folder)!r} is a link: remove it, or name another folder with --results."
        )
    folder.mkdir(exist_ok=True)


def _latest(store: Path) -> Path | None:
    latest = store / LATEST
    return latest.resolve() if latest.is_dir() else None


def _new_folder(store: Path, labels: Sequence[str]) -> Path:
    """Makes a folder named after the time and the labels, and links ``latest`` to it."""
    latest = store / LATEST
    if latest.exists() and not latest.is_symlink():
        raise UsageError(f"{str(latest)!r} is not a link that waitbench made: move it away.")
    name = _name(labels)
    with _errors_explained(store):
        store.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            folder = store / (name if number == 1 else f"{name}-{number}")
            with suppress(FileExistsError):
                folder.mkdir()
                break
        _link_latest(store, folder)
    return folder


def _link_latest(store: Path, folder: Path | None) -> None:
    """Links ``latest`` to a folder of the store, or removes the link."""
    latest = store / LATEST
    if folder is None:
        latest.unlink()
        return
    # Replacing the link is atomic.
    link = folder.with_name(f".{LATEST}.{folder.name}")
    link.symlink_to(folder.name)
    link.replace(latest)


def _name(words: Sequence[str]) -> str:
    """A name, valid on every file system, from the time and ``words``."""
    safe = [re.sub(r"[^\w.+]+", "-", word).strip("-.") for word in words]
    name = "-".join([f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}", *filter(None, safe)])
    return name.encode()[:_MOST_BYTES].decode(errors="ignore").rstrip("-.")


@contextmanager
def _errors_explained(folder: Path) -> Iterator[None]:
    """Turns errors of the system into a ``UsageError``."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"--results {str(folder)!r} is not a folder that can be written to: {error.strerror}."
        ) from error

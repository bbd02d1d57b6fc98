"""Where comparisons are kept: a folder each, never overwritten; ``latest`` leads to the last."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from waitbench.model.errors import UsageError
from waitbench.store import comparisons
from waitbench.store.comparisons import MEASURE_FIRST
from waitbench.system import files
from waitbench.system.places import RESULTS, Cache

LATEST = "latest"

_MOST_BYTES = 120
"""The most that a name may take, without the number behind it. File systems allow 255."""


def new_folder(
    requested: Path | None,
    labels: Sequence[str] = (),
    *,
    store: Path = RESULTS,
    resume: bool = False,
) -> Path:
    """An empty folder for what is about to be measured: the requested one, or a fresh one.

    A fresh one is named after the time and the labels of a comparison, and ``latest`` leads to it.
    With ``resume`` it may hold a comparison to continue, and is the latest where none is requested.
    Raises ``UsageError`` where the requested one holds anything else; nothing in it is touched.
    """
    if resume:
        requested = requested or _latest(store)
    if requested is not None:
        with _explained(requested), removed_if_unused(requested):
            requested.mkdir(parents=True, exist_ok=True)
            is_empty = not any(requested.iterdir())
        if not (is_empty or (resume and comparisons.resume(requested))):
            why = "does not hold a comparison to resume" if resume else "is not empty"
            raise UsageError(
                f"--results {str(requested)!r} {why}, and nothing in it is overwritten. "
                "Name a folder that is empty or not there yet, or with compare's --resume one that "
                "holds a comparison."
            )
        return requested
    latest = store / LATEST
    if latest.exists() and not latest.is_symlink():
        raise UsageError(f"{str(latest)!r} is not a link of waitbench's own: move it away.")
    with _explained(store):
        store.mkdir(parents=True, exist_ok=True)
        folder = _create_first_free(store, _name(labels or ("comparison",)))
        # A link is replaced: there is no moment without one.
        link = folder.with_name(f".{LATEST}.{folder.name}")
        link.symlink_to(folder.name)
        link.replace(latest)
    return folder


@contextmanager
def removed_if_unused(folder: Path | None) -> Iterator[None]:
    """Where the block fails, takes away what it made of a folder and its parents, if still empty.

    What was there before stays, empty or not; and so does all where the harness is ended, for it
    says where to go on.
    """
    places = () if folder is None else (folder, *folder.parents)
    made = [place for place in places if not os.path.lexists(place)]
    try:
        yield
    except Exception:
        for place in made:
            with suppress(OSError):  # not empty, or never made
                place.rmdir()
        raise


def existing_folder(requested: Path | None, *, store: Path = RESULTS) -> Path:
    """The folder to read from: the requested one, or the latest. Raises ``UsageError``."""
    folder = requested or _latest(store)
    if folder is None:
        raise UsageError(f"There are no results yet. {MEASURE_FIRST}")
    if not files.is_folder(folder):
        raise UsageError(f"There is no folder {str(folder)!r}. {MEASURE_FIRST}")
    return folder


@contextmanager
def exclusive(folder: Path, cache: Cache) -> Iterator[None]:
    """Keeps a second comparison out of a folder, which is created if it is not there.

    Raises ``UsageError`` where another one is at work in it.
    """
    with removed_if_unused(folder):
        with _explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
        key = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
        try:
            lock = FileLock(cache.lock_file(f"results-{key}")).acquire(timeout=0)
        except Timeout as error:
            raise UsageError(
                f"Another comparison is writing to {str(folder)!r}. "
                "Wait for it, or name another folder with --results."
            ) from error
        with lock:
            # Nobody writes here now: these are halves of files whose writer was killed.
            for half in folder.glob(f".*{files.HALF}"):
                half.unlink(missing_ok=True)
            yield


def _latest(store: Path) -> Path | None:
    latest = store / LATEST
    return latest.resolve() if latest.is_dir() else None


def _create_first_free(store: Path, name: str) -> Path:
    """The folder of this name, or with the first suffix that is not taken."""
    for number in count(1):
        folder = store / (name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError  # count has no end


def _name(words: Sequence[str]) -> str:
    """A name for a folder of now, safe on every file system, however odd the words are."""
    safe = [re.sub(r"[^\w.+]+", "-", word).strip("-.") for word in words]
    name = "-".join([f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}", *filter(None, safe)])
    return name.encode()[:_MOST_BYTES].decode(errors="ignore").rstrip("-.")


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Says what the system has against a folder. Raises ``UsageError``."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"--results {str(folder)!r} is not a folder that can be written to: {error.strerror}."
        ) from error

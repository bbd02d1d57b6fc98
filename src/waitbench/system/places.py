"""Where things are kept. The only module that knows the folders' names.

A clone keeps everything in its own folder. Installed as a package, waitbench has what it needs
beside its modules, and writes to the user's folders. ``BENCH_HOME`` names another folder for both,
and ``BENCH_CACHE`` one for the cache alone.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
_BUNDLED = PACKAGE / "bundled"
"""What a wheel has of a clone besides the package."""
IS_INSTALLED = _BUNDLED.is_dir()
"""Whether this is an installed package, and not the sources of a clone."""
ROOT = _BUNDLED if IS_INSTALLED else PACKAGE.parent.parent
DATAFLOWS = ROOT / "dataflows"
WORKERS = ROOT / "workers"
"""Worker files, in a folder for each subject."""

if os.path.expanduser("~") == "~":  # noqa: PTH111
    # A user without an entry in passwd, as in a container: libraries must not ask who that is.
    os.environ["HOME"] = "/nonexistent"


def _folder(text: str) -> Path:
    """The folder that a variable names; ``~nobody`` stays what it is, as in a shell."""
    folder = Path(os.path.expanduser(text))  # noqa: PTH111
    with suppress(OSError):  # The current folder is gone: nothing can be made in there, either.
        folder = folder.absolute()
    return folder


def _folders() -> tuple[Path, Path]:
    """Where caches go, and results."""
    home = os.environ.get("BENCH_HOME")
    if home:
        own = _folder(home)
        return own / "cache", own / "results"
    if IS_INSTALLED:
        import platformdirs

        name = "waitbench"
        return platformdirs.user_cache_path(name), platformdirs.user_data_path(name) / "results"
    return ROOT / ".bench", ROOT / "results"


_CACHE, RESULTS = _folders()
if os.environ.get("BENCH_CACHE"):
    _CACHE = _folder(os.environ["BENCH_CACHE"])


def shown(folder: Path) -> str:
    """A folder of ours, for people: relative to the clone, or to the home directory."""
    for parent, prefix in ((ROOT, ""), (Path.home(), "~/")):
        if folder.is_relative_to(parent):
            return f"{prefix}{folder.relative_to(parent)}"
    return str(folder)


@dataclass(frozen=True)
class Cache:
    """The folder of environments, wheels, tools and logs. Safe to delete at rest."""

    root: Path = _CACHE

    def folder(self, name: str) -> Path:
        """The folder ``name`` of the cache, created if it is not there."""
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def lock_file(self, name: str) -> Path:
        """The lock file that guards ``name``."""
        return self.folder("locks") / f"{name}.lock"

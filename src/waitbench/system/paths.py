"""Folders of the project, the cache and the results.

Cache and results are in the clone or, if waitbench is installed, in the user's folders.
``BENCH_HOME`` names another folder for both, ``BENCH_CACHE`` for the cache only.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
_BUNDLED = PACKAGE / "bundled"
"""The wheel's copies of files that are outside of the package in a clone."""
IS_INSTALLED = _BUNDLED.is_dir()
ROOT = _BUNDLED if IS_INSTALLED else PACKAGE.parent.parent
DATAFLOWS = ROOT / "dataflows"
WORKERS = ROOT / "workers"

if os.path.expanduser("~") == "~":  # noqa: PTH111
    # In a container, a user may have no entry in passwd: without HOME, libraries would fail.
    os.environ["HOME"] = "/nonexistent"


def _folder(text: str) -> Path:
    """Makes the path of an environment variable absolute, with ``~`` expanded."""
    folder = Path(os.path.expanduser(text))  # noqa: PTH111
    with suppress(OSError):  # the current folder is gone
        folder = folder.absolute()
    return folder


def _folders() -> tuple[Path, Path]:
    if home := os.environ.get("BENCH_HOME"):
        return _folder(home) / "cache", _folder(home) / "results"
    if IS_INSTALLED:
        import platformdirs

        name = "waitbench"
        return platformdirs.user_cache_path(name), platformdirs.user_data_path(name) / "results"
    return ROOT / ".bench", ROOT / "results"


_CACHE, RESULTS = _folders()
if os.environ.get("BENCH_CACHE"):
    _CACHE = _folder(os.environ["BENCH_CACHE"])


def shown(folder: Path) -> str:
    """Shortens a path for display: relative to the clone, or to the home directory."""
    for parent, prefix in ((ROOT, ""), (Path.home(), "~/")):
        if folder.is_relative_to(parent):
            return f"{prefix}{folder.relative_to(parent)}"
    return str(folder)


@dataclass(frozen=True)
class Cache:
    """The folder of environments, wheels, tools and logs; safe to delete when nothing runs."""

    root: Path = _CACHE

    def folder(self, name: str) -> Path:
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def bytecode(self, folder: Path = Path("/")) -> Path:
        """Where runs keep the bytecode of a folder's modules: see ``PYTHONPYCACHEPREFIX``."""
        return self.root / "pycache" / folder.relative_to("/")

    def lock_file(self, name: str) -> Path:
        return self.folder("locks") / f"{name}.lock"

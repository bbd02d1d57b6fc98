"""Interpreters of this machine, and fetching others with uv."""

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from packaging.version import Version

from waitbench.environments import uv
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import Interpreter
from waitbench.system.places import Cache

OLDEST, NEWEST = (3, 9), (3, 14)
"""The range of versions to fetch; a newer Python is used if it is installed."""


def installed(cache: Cache) -> tuple[Interpreter, ...]:
    """The newest CPython of each supported minor version, newest first."""
    newest: dict[tuple[int, int], Interpreter] = {}
    for python in _listed(cache):
        newest.setdefault(python.minor, python)
    return tuple(newest.values())


def find(request: str, cache: Cache, say: Callable[[str], None]) -> Interpreter:
    """Finds, or fetches, the Python of ``--python``: a version or a path. Raises ``UsageError``."""
    is_version = re.fullmatch(r"\d+(\.\d+){0,2}", request)
    if pythons := _listed(cache, request if is_version else str(Path(request).absolute())):
        return pythons[0]
    if is_version and tuple(map(int, request.split(".")[:2])) >= OLDEST:
        return fetch(request, cache, say)
    oldest = ".".join(map(str, OLDEST))
    raise UsageError(
        f"--python {request!r} is neither a version such as 3.10 nor the path of a CPython: "
        f"{oldest} is the oldest that works."
    )


def fetch(version: str, cache: Cache, say: Callable[[str], None]) -> Interpreter:
    """Fetches a Python into the cache. Raises ``UsageError``."""
    say(f"fetching Python {version} (once)")
    answer = uv.ask(
        "python", "install", "--no-bin", version, UV_PYTHON_INSTALL_DIR=str(_fetched(cache))
    )
    if answer.returncode == 0 and (pythons := _listed(cache, version)):
        return pythons[0]
    raise UsageError(
        f"There is no Python {version} here, and it cannot be fetched: install it (uv python "
        f"install {version}, or pyenv install {version}), or name another one with --python.\n"
        f"{uv.reason(answer)}"
    )


def _listed(cache: Cache, *request: str) -> list[Interpreter]:
    """The supported CPythons here, newest first, of a version or path if requested."""
    listing = ("--only-installed", "--output-format", "json")
    path = _search_path(cache)
    answer = uv.ask("python", "list", *listing, *request, UV_PYTHON_SEARCH_PATH=path)
    if answer.returncode != 0 and not request:
        raise HarnessError(f"The Pythons here cannot be listed: {uv.reason(answer)}.")
    pythons = [
        Interpreter(entry["path"], entry["version"])
        for entry in json.loads(answer.stdout or "[]")
        if (entry["implementation"], entry["variant"]) == ("cpython", "default")
    ]
    usable = (python for python in pythons if python.minor >= OLDEST)
    return sorted(usable, key=lambda python: Version(python.version), reverse=True)


def _search_path(cache: Cache) -> str:
    """``PATH`` with all Pythons of pyenv, whose shims may lead nowhere, and with fetched ones."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    paths = os.environ.get("PATH", "").split(os.pathsep)
    folders = [folder for folder in paths if "shims" not in folder]
    for root in (pyenv / "versions", _fetched(cache)):
        with suppress(OSError):  # another user's
            folders += sorted(map(str, root.glob("*/bin")))
    return os.pathsep.join(folders)


def _fetched(cache: Cache) -> Path:
    return cache.root / "pythons"

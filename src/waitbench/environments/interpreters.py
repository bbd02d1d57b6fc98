"""The Pythons of this machine, and those that uv fetches."""

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from packaging.version import Version

from waitbench.environments import uv
from waitbench.model.environment import Interpreter
from waitbench.model.errors import HarnessError, UsageError
from waitbench.system.places import Cache

OLDEST, NEWEST = (3, 9), (3, 14)
"""Those that an environment can be made for; newer ones, if they are here."""


def installed(cache: Cache) -> tuple[Interpreter, ...]:
    """Every CPython here that an environment can be made for, newest first, one a minor version."""
    newest: dict[tuple[int, int], Interpreter] = {}
    for python in _listed(cache):
        newest.setdefault(python.minor, python)
    return tuple(newest.values())


def find(request: str, cache: Cache, say: Callable[[str], None]) -> Interpreter:
    """The interpreter that ``--python`` names, by version or path; a version may be fetched.

    Raises ``UsageError`` for what is neither, or too old.
    """
    is_version = re.fullmatch(r"\d+(\.\d+){0,2}", request)
    found = _listed(cache, request if is_version else str(Path(request).absolute()))
    if found:
        return found[0]
    if is_version and tuple(map(int, request.split(".")[:2])) >= OLDEST:
        return fetch(request, cache, say)
    oldest = ".".join(map(str, OLDEST))
    raise UsageError(
        f"--python {request!r} is neither a version such as 3.10 nor the path of a CPython: "
        f"{oldest} is the oldest that works."
    )


def fetch(version: str, cache: Cache, say: Callable[[str], None]) -> Interpreter:
    """Has uv fetch a Python, for waitbench alone. Raises ``UsageError`` where it cannot be had."""
    say(f"fetching Python {version} (once)")
    answer = uv.ask(
        "python", "install", "--no-bin", version, UV_PYTHON_INSTALL_DIR=str(_fetched(cache))
    )
    found = _listed(cache, version) if answer.returncode == 0 else []
    if found:
        return found[0]
    raise UsageError(
        f"There is no Python {version} here, and it cannot be fetched: install it (uv python "
        f"install {version}, or pyenv install {version}), or name another one with --python.\n"
        f"{uv.reason(answer)}"
    )


def _listed(cache: Cache, *request: str) -> list[Interpreter]:
    """The CPythons here, newest first; or the one of a path."""
    listing = ("--only-installed", "--output-format", "json")
    path = _search_path(cache)
    answer = uv.ask("python", "list", *listing, *request, UV_PYTHON_SEARCH_PATH=path)
    if answer.returncode != 0 and not request:
        raise HarnessError(f"The Pythons here cannot be listed: {uv.reason(answer)}.")
    pythons = [
        Interpreter(one["path"], one["version"])
        for one in json.loads(answer.stdout or "[]")
        if (one["implementation"], one["variant"]) == ("cpython", "default")
    ]
    usable = (one for one in pythons if one.minor >= OLDEST)
    return sorted(usable, key=lambda one: Version(one.version), reverse=True)


def _search_path(cache: Cache) -> str:
    """Where uv looks besides its own folder: pyenv's shims may lead nowhere."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [one for one in os.environ.get("PATH", "").split(os.pathsep) if "shims" not in one]
    for root in (pyenv / "versions", _fetched(cache)):
        with suppress(OSError):  # another user's
            folders += sorted(map(str, root.glob("*/bin")))
    return os.pathsep.join(folders)


def _fetched(cache: Cache) -> Path:
    """Where the Pythons are that were fetched."""
    return cache.root / "pythons"

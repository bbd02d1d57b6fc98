"""The Pythons of this machine, and which of them a set of revisions can share."""

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from subprocess import SubprocessError

import findpython
from packaging.version import InvalidVersion, Version

from waitbench.model.environment import Interpreter
from waitbench.model.errors import UsageError
from waitbench.system import files
from waitbench.system.places import Cache

OLDEST = (3, 9)
"""The oldest that the pinned virtualenv still carries pip for."""


def installed(cache: Cache) -> tuple[Interpreter, ...]:
    """Every CPython here that an environment can be made for, newest first, one a minor version.

    findpython knows where pyenv, uv, rye, asdf and the system keep theirs. Asking each binary for
    its version takes about 0.1 s, so the answers are kept, for as long as the binary keeps its time
    of modification and size.
    """
    known_file = cache.root / "interpreters.json"
    known = _read_known(known_file)
    with ThreadPoolExecutor(max_workers=4) as pool:
        asked = dict(pool.map(lambda candidate: _identify(candidate, known), _candidates()))
    if asked != known and known_file.parent.is_dir():
        answers = {key: found and asdict(found) for key, found in asked.items()}
        files.write_text(known_file, json.dumps(answers))
    newest: dict[tuple[int, int], Interpreter] = {}
    for interpreter in sorted(
        filter(None, asked.values()), key=lambda i: Version(i.version), reverse=True
    ):
        if interpreter.minor >= OLDEST:
            newest.setdefault(interpreter.minor, interpreter)
    return tuple(newest.values())


def find(request: str, cache: Cache) -> Interpreter:
    """The interpreter that ``--python`` names, by version or path. Raises ``UsageError``."""
    if re.fullmatch(r"\d+(\.\d+){0,2}", request):
        pythons = installed(cache)
        for interpreter in pythons:
            if (interpreter.version + ".").startswith(request + "."):
                return interpreter
        have = ", ".join(interpreter.version for interpreter in pythons) or "none"
        raise UsageError(f"--python {request}: there is no such CPython here. Installed: {have}.")
    path = Path(request)
    if files.is_file(path) and os.access(path, os.X_OK):
        _, interpreter_or_none = _identify(findpython.PythonVersion(path.absolute()), {})
        if interpreter_or_none is not None and interpreter_or_none.minor >= OLDEST:
            return interpreter_or_none
    raise UsageError(
        f"--python {request!r} is neither a version such as 3.10 nor the path of a CPython ≥ 3.9."
    )


def newest_shared(
    pythons: Sequence[Interpreter], supports: Sequence[Callable[[Interpreter], bool]]
) -> Interpreter | None:
    """The newest of ``pythons`` that all of ``supports`` say yes to; asked side by side."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        for python in pythons:
            if all(pool.map(lambda supported, python=python: supported(python), supports)):
                return python
    return None


def _candidates() -> Iterable[findpython.PythonVersion]:
    """Each binary once. pyenv's shims are left out: they are scripts that may lead nowhere."""
    seen: set[Path] = set()
    for provider in findpython.Finder().setup_providers():
        for candidate in provider.find_pythons():
            real = candidate.real_path
            if real not in seen and real.is_file() and real.parent.name != "shims":
                seen.add(real)
                # The real path: an activated virtualenv must not become the base of others.
                yield findpython.PythonVersion(real)


def _identify(
    candidate: findpython.PythonVersion, known: dict[str, Interpreter | None]
) -> tuple[str, Interpreter | None]:
    status = candidate.executable.stat()
    key = f"{candidate.executable}|{status.st_mtime_ns}|{status.st_size}"
    if key in known:
        return key, known[key]
    try:
        if candidate.implementation.lower() != "cpython" or candidate.freethreaded:
            return key, None
        return key, Interpreter(str(candidate.executable), str(candidate.version))
    except (OSError, InvalidVersion, SubprocessError):
        return key, None


def _read_known(path: Path) -> dict[str, Interpreter | None]:
    try:
        return {
            key: found and Interpreter(**found)
            for key, found in json.loads(path.read_bytes()).items()
        }
    except (OSError, ValueError, TypeError):
        return {}

"""What an environment has installed, as its installer recorded it.

A package may be a folder, a part of a namespace, single modules, a program, or several of these,
whatever it is called: so nothing is concluded from the names of folders.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from importlib.metadata import Distribution, PackagePath, distributions
from pathlib import Path

from packaging.utils import canonicalize_name

_LIBRARIES = {".so", ".pyd", ".dylib"}
_PROGRAMS = (b"\x7fELF", b"\xcf\xfa\xed\xfe")
"""What a compiled program of Linux, or of macOS, begins with."""

_STARTS = re.compile(rb"\A#!(?:/bin/sh\n'''exec' .*\n' '''|.*)\n")
"""How a script finds its Python, by a shell where the path is long."""


def find_all(folder: Path) -> Mapping[str, Distribution]:
    """All that an environment has, by normalised names: no package has two."""
    places = [str(path) for path in folder.glob("lib/python*/site-packages")]
    return {canonicalize_name(one.metadata["Name"]): one for one in distributions(path=places)}


def read_contents(package: Distribution) -> tuple[str, Mapping[str, str]]:
    """The SHA-256 over all files of a package, and of each extension, library and program in it.

    These by their paths in ``site-packages``. Raises ``OSError`` if a file is gone.

    Left out is what the installer made of them, which differs from place to place: metadata,
    bytecode, scripts that only call a function, and the lines by which a script finds its Python.
    """
    generated = {one.name for one in package.entry_points if one.group.endswith("_scripts")}
    digests, compiled = {}, {}
    for path in sorted(package.files or ()):
        is_outside = path.parts[0] == ".."
        if _is_metadata(path) or path.suffix == ".pyc" or (is_outside and path.name in generated):
            continue
        content = Path(path.locate()).read_bytes()
        if is_outside:
            content = _STARTS.sub(b"", content)
        name = str(path)
        digests[name] = hashlib.sha256(content).hexdigest()
        if _LIBRARIES.intersection(path.suffixes) or content.startswith(_PROGRAMS):
            compiled[name] = digests[name]
    total = hashlib.sha256(json.dumps(digests).encode()).hexdigest()
    return total, compiled


def modules_of(package: Distribution) -> list[str]:
    """The files that Python loads first of a package, by their paths in ``site-packages``.

    Of each folder there those that lie highest: its ``__init__.py``, if it is no namespace.
    """
    roots: dict[str, list[PackagePath]] = {}
    for path in package.files or ():
        if path.parts[0] != ".." and path.suffix in {".py", *_LIBRARIES}:
            roots.setdefault(path.parts[0], []).append(path)
    found: list[PackagePath] = []
    for paths in roots.values():
        highest = min(len(path.parts) for path in paths)
        first = [path for path in paths if len(path.parts) == highest]
        found += [path for path in first if path.stem == "__init__"] or first
    return [str(path) for path in found]


def _is_metadata(path: PackagePath) -> bool:
    return path.parts[0].endswith(".dist-info")

"""Reads packages on disk: wheels, and installed packages.

A package may consist of folders, a part of a namespace, single modules and programs, of any names:
the installer's record lists its files.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from importlib.metadata import Distribution, PackagePath, distributions
from pathlib import Path

from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from waitbench.model.revision import Interpreter
from waitbench.system import files

_LIBRARY = ".so"
_ELF = b"\x7fELF"
"""The first bytes of a compiled program."""
_SHEBANG = re.compile(rb"\A#!(?:/bin/sh\n'''exec' .*\n' '''|.*)\n")
"""The shebang of a script: a Python, or a shell if the Python's path is too long for one."""


def fits(wheel: Path, python: Interpreter) -> bool:
    """Whether a Python can use a wheel, by the tags in the wheel's name."""
    _, _, _, tags = parse_wheel_filename(wheel.name)
    abis = [python.tag, "abi3", "none"]
    usable = {*cpython_tags(python.minor, abis), *compatible_tags(python.minor, python.tag)}
    return not usable.isdisjoint(tags)


def installed(folder: Path) -> Mapping[str, Distribution]:
    """The packages of an environment by their normalised names."""
    paths = [str(path) for path in folder.glob("lib/python*/site-packages")]
    return {canonicalize_name(dist.metadata["Name"]): dist for dist in distributions(path=paths)}


def read_contents(package: Distribution) -> tuple[str, Mapping[str, str]]:
    """Returns the digests of a package, and of each compiled file by path. Raises ``OSError``.

    Excludes metadata, bytecode and entry-point scripts, which depend on the environment's path.
    """
    generated = {point.name for point in package.entry_points if point.group.endswith("_scripts")}
    digests, compiled = {}, {}
    for path in sorted(package.files or ()):
        is_outside = path.parts[0] == ".."  # of site-packages, such as a script
        is_metadata = path.parts[0].endswith(".dist-info")
        if is_metadata or path.suffix == ".pyc" or (is_outside and path.name in generated):
            continue
        content = Path(path.locate()).read_bytes()
        if is_outside:
            content = _SHEBANG.sub(b"", content)
        name = str(path)
        digests[name] = hashlib.sha256(content).hexdigest()
        if _LIBRARY in path.suffixes or content.startswith(_ELF):
            compiled[name] = digests[name]
    total = hashlib.sha256(json.dumps(digests).encode()).hexdigest()
    return total, compiled


def sha256_of(folder: Path) -> str:
    """Hashes the names and contents of a folder's files, and the targets of its links."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        content = str(path.readlink()) if path.is_symlink() else files.sha256(path)
        contents[str(path.relative_to(folder))] = content
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()


def modules_of(package: Distribution) -> list[str]:
    """The files that an import of a package loads first, by their paths in ``site-packages``."""
    roots: dict[str, list[PackagePath]] = {}
    for path in package.files or ():
        if path.parts[0] != ".." and path.suffix in (".py", _LIBRARY):
            roots.setdefault(path.parts[0], []).append(path)
    modules: list[PackagePath] = []
    for paths in roots.values():
        depth = min(len(path.parts) for path in paths)
        topmost = [path for path in paths if len(path.parts) == depth]
        modules += [path for path in topmost if path.stem == "__init__"] or topmost
    return [str(path) for path in modules]

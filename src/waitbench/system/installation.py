"""The version of this installation of waitbench, and the names of its commands."""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from waitbench.system.paths import DATAFLOWS, IS_INSTALLED, PACKAGE, ROOT

_SHOWN_DIGITS = 10  # not imported from the model, which needs libraries that may be broken
VERSION = "0.1.0"
_SUFFIXES = (".py", ".txt", ".toml")
_SCRIPTS = {"compare": "./compare.sh", "plot": "./plot.sh"}
_UVX_FOLDER = "archive-v0"


def version_now() -> str:
    """The version with a digest of the sources, as checkouts of the same version may differ."""
    requirements = ROOT / "requirements.txt"
    return f"{VERSION}+{digest(PACKAGE, DATAFLOWS, requirements)[:_SHOWN_DIGITS]}"


version = cache(version_now)
"""The version at the first call in this process, as sources may change meanwhile."""


def digest(*roots: Path) -> str:
    """SHA-256 over names and contents of source files; a wheel's ``bundled`` files count once."""
    total = hashlib.sha256()
    for root in roots:
        for path in sorted((root, *root.rglob("*"))):
            if ROOT in path.parents and ROOT not in (root, *root.parents):
                continue
            if path.suffix in _SUFFIXES and path.is_file():
                content = path.read_bytes()
                total.update(f"{path.relative_to(root.parent)}\0{len(content)}\0".encode())
                total.update(content)
    return total.hexdigest()


def program_name() -> str:
    return os.environ.get("BENCH_PROGRAM") or ("waitbench" if IS_INSTALLED else "runner.py")


def called(command: str) -> str:
    """A command as users of this installation type it: ``./compare.sh``, ``waitbench compare``."""
    if IS_INSTALLED:
        return f"{_installed_name()} {command}"
    return _SCRIPTS.get(command, f"./waitbench {command}")


def as_called(text: str) -> str:
    """Replaces commands of a clone, such as ``./compare.sh``, by those of this installation."""
    if not IS_INSTALLED:
        return text
    for command, script in _SCRIPTS.items():
        text = text.replace(script, called(command))
    return text.replace("./waitbench", _installed_name())


def _installed_name() -> str:
    return "uvx waitbench" if _UVX_FOLDER in Path(sys.prefix).parts else "waitbench"

"""This installation of waitbench: how it is told from another, how it is called and started."""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from waitbench.system.places import DATAFLOWS, IS_INSTALLED, PACKAGE, ROOT

VERSION = "0.1.0"
"""Of this package; what pyproject.toml and result files have."""
_SHOWN_DIGITS = 10
_SUFFIXES = (".py", ".txt", ".toml", ".rs", ".lock", ".json")
_SCRIPTS = {"compare": "./compare.sh", "plot": "./plot.sh"}
"""The commands that have a script of their own in a clone."""
_OF_UVX = "archive-v0"
"""A part of the path of an environment that uvx makes for one call."""


@cache
def version() -> str:
    """The version as it was when this process first asked."""
    return version_now()


def version_now() -> str:
    """The version, and a digest of all that measures: two checkouts may have one version."""
    requirements = ROOT / "requirements.txt"
    return f"{VERSION}+{digest(PACKAGE, DATAFLOWS, requirements)[:_SHOWN_DIGITS]}"


def digest(*places: Path) -> str:
    """SHA-256 of sources of ours, by their names and contents; places are folders or files.

    What a wheel bundles beside the package is no part of it: a clone has that elsewhere.
    """
    whole = hashlib.sha256()
    for place in places:
        for path in sorted((place, *place.rglob("*"))):
            if ROOT in path.parents and ROOT not in (place, *place.parents):
                continue
            if path.suffix in _SUFFIXES and path.is_file():
                content = path.read_bytes()
                whole.update(f"{path.relative_to(place.parent)}\0{len(content)}\0".encode())
                whole.update(content)
    return whole.hexdigest()


def program_name() -> str:
    """What the user has called, for messages of this process."""
    return os.environ.get("BENCH_PROGRAM") or ("waitbench" if IS_INSTALLED else "runner.py")


def called(command: str) -> str:
    """How users type a command where they are: ``./compare.sh`` or ``waitbench compare``."""
    if IS_INSTALLED:
        return f"{_installed_name()} {command}"
    return _SCRIPTS.get(command, f"./waitbench {command}")


def as_called(text: str) -> str:
    """Command lines that are written as in a clone, as users type them where they are."""
    if not IS_INSTALLED:
        return text
    for command, script in _SCRIPTS.items():
        text = text.replace(script, called(command))
    return text.replace("./waitbench", _installed_name())


def _installed_name() -> str:
    return "uvx waitbench" if _OF_UVX in Path(sys.prefix).parts else "waitbench"

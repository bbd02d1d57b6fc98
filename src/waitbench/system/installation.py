"""This installation of waitbench: how it is told from another, and how it is started."""

import hashlib
import sys
from functools import cache
from pathlib import Path

from waitbench import VERSION
from waitbench.system.places import DATAFLOWS, PACKAGE, ROOT, SERVICES

_SHOWN_DIGITS = 10
_SUFFIXES = (".py", ".txt", ".toml", ".rs", ".lock", ".json")


@cache
def version() -> str:
    """The version, and a digest of all that measures: two checkouts may have one version."""
    requirements = ROOT / "requirements.txt"
    return f"{VERSION}+{digest(PACKAGE, DATAFLOWS, SERVICES, requirements)[:_SHOWN_DIGITS]}"


def digest(*places: Path) -> str:
    """SHA-256 of sources of ours, by their names and contents; places are folders or files."""
    whole = hashlib.sha256()
    for place in places:
        for path in sorted((place, *place.rglob("*"))):
            if path.suffix in _SUFFIXES and path.is_file():
                content = path.read_bytes()
                whole.update(f"{path.relative_to(place.parent)}\0{len(content)}\0".encode())
                whole.update(content)
    return whole.hexdigest()


def program() -> tuple[str, ...]:
    """The arguments that start this very program again, with a command of its own to follow."""
    return sys.executable, str(Path(sys.argv[0]).resolve())

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
    digest = hashlib.sha256()
    found = [path for place in (PACKAGE, DATAFLOWS, SERVICES) for path in place.rglob("*")]
    for path in sorted((*found, ROOT / "requirements.txt")):
        if path.suffix in _SUFFIXES and path.is_file():
            content = path.read_bytes()
            digest.update(f"{path.relative_to(ROOT)}\0{len(content)}\0".encode())
            digest.update(content)
    return f"{VERSION}+{digest.hexdigest()[:_SHOWN_DIGITS]}"


def program() -> tuple[str, ...]:
    """The arguments that start this very program again, with a command of its own to follow."""
    return sys.executable, str(Path(sys.argv[0]).resolve())

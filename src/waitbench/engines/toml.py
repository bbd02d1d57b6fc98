"""TOML out of source trees, which may hold anything."""

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def parse(text: str | None) -> dict[str, Any]:
    """The content of a file; nothing where there is no file, or it is not TOML."""
    try:
        return dict(tomllib.loads(text or ""))
    except tomllib.TOMLDecodeError:
        return {}

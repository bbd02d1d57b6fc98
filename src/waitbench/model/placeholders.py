"""Placeholders of command lines, such as ``{port}``.

A module of its own, as the launcher of workers imports little else.
"""

import re
from collections.abc import Mapping, Sequence

PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_-]*(?:\.[a-z]+)?)\}")
"""``{port}`` or ``{redis.port}``; other braces stay as they are."""
INDEX, ADDRESSES = "{index}", "{addresses}"
"""A process's number in its cluster, and the addresses of all its processes."""


def filled(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Fills in the placeholders that have values."""
    return [PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), word) for word in words]

"""What stands in braces in a command line, such as ``{port}``.

Alone in its module: the launcher of workers imports this, and little else.
"""

import re
from collections.abc import Mapping, Sequence

PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_-]*(?:\.[a-z]+)?)\}")
"""Such as ``{port}`` or ``{redis.port}``; other braces stay as they are."""
INDEX, ADDRESSES = "{index}", "{addresses}"
"""Words that stand for a process's number in a cluster, and for where all of it listen."""


def filled(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Words with what stands in braces filled in, where it is known."""
    return [PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), one) for one in words]

"""Settings of writers, and what makes sense."""

import os
from typing import Any

OVERFLOWS = ("drop-newest", "drop-oldest", "block")
"""What gives way when the buffer is full: the message that comes, the oldest, or the producer."""
PAGE_SIZE = 4096
BUFFER = 40_000


class SettingError(ValueError):
    """A setting that makes no sense, by name."""


def validate(
    page_size: Any = PAGE_SIZE,
    buffer: Any = BUFFER,
    overflow: Any = OVERFLOWS[0],
    encoding: Any = "utf-8",
) -> None:
    """Raises ``SettingError`` for the first setting that makes no sense."""
    for name, value in (("page_size", page_size), ("buffer", buffer)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise SettingError(f"{name} {value!r}: must be a whole number")
        if value < 1:
            raise SettingError(f"{name} {value!r}: must be at least 1")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if page_size > memory:
        raise SettingError(
            f"page_size {page_size}: more than the {memory} bytes of memory that this machine has"
        )
    # The queue's own pointers, without any message.
    if buffer > memory // 8:
        raise SettingError(
            f"buffer {buffer}: more entries than this machine's memory could point to"
        )
    if overflow not in OVERFLOWS:
        raise SettingError("overflow {!r} is not one of: {}".format(overflow, ", ".join(OVERFLOWS)))
    try:
        "".encode(encoding)
    except (LookupError, TypeError):
        raise SettingError(f"encoding {encoding!r} is not known") from None

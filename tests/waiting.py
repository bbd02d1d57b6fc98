"""Waiting for what must come, and failing when it does not."""

import time
from collections.abc import Callable


def until(condition: Callable[[], object], each_s: float = 0.01) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(each_s)

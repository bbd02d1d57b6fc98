"""Waiting for what must come, and failing when it does not."""

import time
from collections.abc import Callable


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)

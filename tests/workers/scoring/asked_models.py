"""Models that are tiny programs, and the ways to ask one behind pipes."""

import sys
from collections.abc import Callable
from typing import Any

from blocking import BlockingScorer
from nonblocking import NonblockingScorer

SCORERS: dict[str, Callable[..., Any]] = {
    "blocking": BlockingScorer,
    "spin": lambda command, **more: NonblockingScorer(command, parks=False, **more),
    "park": lambda command, **more: NonblockingScorer(command, parks=True, **more),
}


def model(program: str) -> list[str]:
    """The command of a model process that is this Python program."""
    return [sys.executable, "-u", "-c", program]

"""Scorers that ask a model behind pipes, of each kind, and models that are tiny programs."""

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


def answering(answer: str) -> list[str]:
    """A model that answers each line with the value of an expression."""
    return model(f"import sys\nfor line in sys.stdin: print({answer})")

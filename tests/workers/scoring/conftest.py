"""Scorers behind pipes, one of each kind, and models that are tiny programs."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from blocking import BlockingScorer
from nonblocking import NonblockingScorer

SCORERS: dict[str, Callable[..., Any]] = {
    "blocking": BlockingScorer,
    "spin": lambda command, **more: NonblockingScorer(command, parks=False, **more),
    "park": lambda command, **more: NonblockingScorer(command, parks=True, **more),
}
Build = Callable[..., Any]


@pytest.fixture(params=SCORERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def build(kind: str) -> Iterator[Build]:
    """Makes a scorer of a model that is a Python program; its process ends with the test."""
    made = []

    def make(program: str, **more: object) -> Any:
        made.append(SCORERS[kind]([sys.executable, "-u", "-c", program], **more))
        return made[-1]

    yield make
    for scorer in made:
        scorer.process.kill()
        scorer.close()


def answering(answer: str) -> str:
    """A model that answers each line with the value of an expression."""
    return f"import sys\nfor line in sys.stdin: print({answer})"

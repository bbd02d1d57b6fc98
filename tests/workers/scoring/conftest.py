"""What each test of scorers behind pipes is about: one of each kind."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.workers.scoring.models import SCORERS


@pytest.fixture(params=SCORERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def build(kind: str) -> Iterator[Callable[..., Any]]:
    """Makes a scorer of a model's command; its process ends with the test."""
    made = []

    def make(command: list[str], **more: object) -> Any:
        made.append(SCORERS[kind](command, **more))
        return made[-1]

    yield make
    for scorer in made:
        scorer.process.kill()
        scorer.close()

"""A model process has one size of pipes, whoever asks it."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from model_process import PIPE_BYTES

from tests.workers.scoring.asked_models import SCORERS, model

GET_PIPE_SIZE = 1032
MODEL = model("import sys\nfor line in sys.stdin: print(1)")


def pipe_sizes(*pipes: int) -> set[int]:
    return {fcntl.fcntl(pipe, GET_PIPE_SIZE) for pipe in pipes}


@contextmanager
def asked(scorer: Any) -> Iterator[Any]:
    """A scorer that has had an answer, so that its model is all there."""
    with closing(scorer):
        assert scorer.score(b"context", [b"candidate"], 30.0)[0] == [1.0]
        yield scorer.process


@pytest.mark.parametrize("make", SCORERS.values(), ids=SCORERS)
def test_all_models_have_large_pipes(
    make: Callable[..., Any],
) -> None:
    with asked(make(MODEL)) as process:
        assert pipe_sizes(process.to_model, process.from_model) == {PIPE_BYTES}


@pytest.mark.parametrize("make", SCORERS.values(), ids=SCORERS)
def test_where_the_system_refuses_larger_pipes_the_usual_ones_do(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> int:
        raise PermissionError(1, "refused")

    with monkeypatch.context() as patched:
        patched.setattr("model_process.fcntl.fcntl", refuse)
        scorer = make(MODEL)
    with asked(scorer) as process:
        assert pipe_sizes(process.to_model, process.from_model) < {1 << 16, 1 << 12}


def test_training_has_no_pipe_for_predictions() -> None:
    trainer = SCORERS["blocking"](model("import sys; sys.stdin.read()"), write_only=True)
    with closing(trainer):
        assert trainer.process.from_model == -1
        assert pipe_sizes(trainer.process.to_model) == {PIPE_BYTES}

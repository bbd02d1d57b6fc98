"""A model process has one niceness and one size of pipes, whoever asks it."""

import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from scorers.process import ModelError
from scorers.treatment import USUAL, Treatment

from tests.dataflows.asked_models import SCORERS, model

GET_PIPE_SIZE = 1032
MODEL = model("import sys\nfor line in sys.stdin: print(1)")


def niceness(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[16])


def pipe_sizes(*pipes: int) -> set[int]:
    return {fcntl.fcntl(pipe, GET_PIPE_SIZE) for pipe in pipes}


@contextmanager
def asked(scorer: Any) -> Iterator[Any]:
    """A scorer that has had an answer, so that its model is all there."""
    with closing(scorer):
        assert scorer.score(b"context", [b"candidate"], 30.0)[0] == [1.0]
        yield scorer.process


@pytest.mark.parametrize("make", SCORERS.values(), ids=SCORERS)
def test_by_default_all_models_are_as_nice_as_any_child_and_have_large_pipes(
    make: Callable[..., Any],
) -> None:
    with asked(make(MODEL)) as process:
        assert niceness(process.pid) == niceness(os.getpid())
        assert pipe_sizes(process.to_model, process.from_model) == {USUAL.pipe_bytes}


@pytest.mark.parametrize("make", SCORERS.values(), ids=SCORERS)
def test_where_the_system_refuses_larger_pipes_the_usual_ones_do(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> int:
        raise PermissionError(1, "refused")

    with monkeypatch.context() as patched:
        patched.setattr("scorers.treatment.fcntl.fcntl", refuse)
        scorer = make(MODEL)
    with asked(scorer) as process:
        assert pipe_sizes(process.to_model, process.from_model) < {1 << 16, 1 << 12}


@pytest.mark.parametrize("make", SCORERS.values(), ids=SCORERS)
def test_a_model_has_the_niceness_and_pipes_that_it_was_given(make: Callable[..., Any]) -> None:
    treatment = Treatment(niceness=5, pipe_bytes=1 << 18)
    with asked(make(MODEL, treatment=treatment)) as process:
        # 19 is the nicest, where these tests run nicely themselves.
        assert niceness(process.pid) == min(niceness(os.getpid()) + 5, 19)
        assert pipe_sizes(process.to_model, process.from_model) == {1 << 18}


@pytest.mark.parametrize("make", SCORERS.values(), ids=SCORERS)
def test_a_treatment_that_is_refused_ends_the_model(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    start = subprocess.Popen

    def note(*arguments: Any, **more: Any) -> Any:
        started.append(start(*arguments, **more))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", note)
    with pytest.raises(ModelError, match=r"cannot have Treatment\(niceness=0, pipe_bytes=-1\)"):
        make(MODEL, treatment=Treatment(pipe_bytes=-1))
    (process,) = started
    assert process.returncode == -9


def test_training_has_no_pipe_for_predictions_and_is_treated_all_the_same() -> None:
    trainer = SCORERS["blocking"](
        model("import sys; sys.stdin.read()"),
        write_only=True,
        treatment=Treatment(pipe_bytes=1 << 17),
    )
    with closing(trainer):
        assert pipe_sizes(trainer.process.to_model) == {1 << 17}

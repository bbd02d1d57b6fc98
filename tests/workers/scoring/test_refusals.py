"""What a scorer does not ask, does not believe, and after what it is not asked again."""

import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from blocking import BlockingScorer
from inprocess import InProcessScorer
from model_process import ModelError

from tests.workers.scoring.models import answering


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> InProcessScorer:
    """A model in this process that takes each line for the number that it predicts."""

    class Workspace:
        def __init__(self, _arguments: str) -> None:
            pass

        def predict(self, line: str) -> float:
            return float(line.rsplit(maxsplit=1)[-1])

    package = ModuleType("vowpalwabbit")
    package.Workspace = Workspace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vowpalwabbit", package)
    return InProcessScorer([])


def test_what_is_more_than_a_line_is_refused_before_anything_is_asked(
    build: Any, in_process: InProcessScorer
) -> None:
    behind_pipes = build(answering("line.count('b')"))
    for scorer in (behind_pipes, in_process):
        with pytest.raises(ValueError, match=r"b'b.*nc' is more than a line"):
            scorer.score(b"who", [b"a", b"b\nc"], 10.0)
        with pytest.raises(ValueError, match=r"b'who.*nelse' is more than a line"):
            scorer.score(b"who\nelse", [b"a"], 10.0)
    assert behind_pipes.score(b"who", [b"b", b"bb"], 10.0)[0] == [1.0, 2.0]


def test_a_model_is_not_taught_what_is_more_than_a_line(tmp_path: Path) -> None:
    taught = tmp_path / "taught"
    program = f"import sys; open({str(taught)!r}, 'w').write(sys.stdin.read())"
    scorer = BlockingScorer([sys.executable, "-c", program], write_only=True)
    assert scorer.process.from_model == -1, "training has no pipe for predictions"
    with pytest.raises(ValueError, match="more than a line"):
        scorer.train(b"who", [b"a\nb"], [1])
    scorer.close()
    assert taught.read_text() == ""


@pytest.mark.parametrize("answer", ["nan", "inf", "nan tag", ""])
def test_what_is_not_a_number_is_not_a_prediction(build: Any, answer: str) -> None:
    scorer = build(answering(f"{answer!r} if 'b' in line else 1.5"))
    with pytest.raises(ModelError, match=f"b'{answer}' is not a prediction"):
        scorer.score(b"who", [b"a", b"b", b"c"], 10.0)
    with pytest.raises(ModelError, match="whose its answers are is not known"):
        scorer.score(b"who", [b"a"], 30.0)


def test_what_is_not_a_number_is_refused_from_a_model_in_the_process(
    in_process: InProcessScorer,
) -> None:
    with pytest.raises(ModelError, match="are not all numbers"):
        in_process.score(b"who", [b"1", b"nan"], 10.0)


def test_predictions_whose_sum_is_too_large_are_numbers_all_the_same(build: Any) -> None:
    scorer = build(answering("1.7e308"))
    assert scorer.score(b"who", [b"a"] * 10, 10.0)[0] == [1.7e308] * 10


class Interrupted(Exception):
    """What a signal raises in the middle of a call."""


def test_after_an_interrupted_call_a_scorer_refuses_instead_of_answering_for_it(
    build: Any,
) -> None:
    # A slow model: the call lasts for seconds, and is interrupted while it waits.
    scorer = build(answering("(__import__('time').sleep(0.01), line.split()[1])[1]"))
    assert scorer.score(b"context 1", [b"c"], 10.0)[0] == [1.0]

    def interrupt(_number: int, _frame: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Interrupted):
            scorer.score(b"context 2", [b"c"] * 400, 30.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(ModelError, match="a call was interrupted or is not over"):
        scorer.score(b"context 3", [b"c"], 10.0)

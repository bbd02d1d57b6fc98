"""Whose prediction is whose, by each way to ask a model, and what predict.py measures of it."""

import random

import pytest
import vw
from call import Call
from inprocess import InProcessScorer
from predict import WARM_UP_CALLS, WAYS, measure, warm_up
from problem import Problem

from tests.workers.scoring.conftest import SCORERS, Build
from waitbench.engines.worker import file as worker_file
from waitbench.system.places import WORKERS

CANDIDATES = [b"c%d" % number for number in range(1000)]

# Answers "context 7 … c12" with 7012: every answer says which line it is for. Now and then it
# stops for a while.
IDENTIFYING = """
import sys, time, random
rng = random.Random({seed})
for line in sys.stdin.buffer:
    words = line.split()
    if rng.random() < 0.01:
        time.sleep(rng.uniform(0, 0.03))
    sys.stdout.buffer.write(b"%d\\n" % (int(words[1]) * 1000 + int(words[-1][1:])))
    sys.stdout.buffer.flush()
"""


def context(number: int, length: int) -> bytes:
    return b"context %d %s" % (number, b"x" * length)


@pytest.mark.parametrize("seed", range(2))
def test_every_prediction_belongs_to_its_line_whatever_the_calls_before_left_behind(
    build: Build, kind: str, seed: int
) -> None:
    rng = random.Random(seed)
    scorer = build(IDENTIFYING.format(seed=seed))
    scorer.score(context(0, 1), CANDIDATES[:1], 10.0)
    left_behind = lines = 0
    for number in range(1, 90):
        # Lines from short to longer than a pipe's page, limits from hopeless to ample.
        predictions, call = scorer.score(
            context(number, rng.choice((5, 500, 6000))),
            CANDIDATES,
            rng.choice((0.0005, 0.003, 0.02)),
        )
        assert predictions == [number * 1000 + candidate for candidate in range(len(predictions))]
        assert call.lines == len(predictions)
        left_behind += call.pending_before > 0
        lines += call.lines
    assert lines
    # This test shows nothing unless calls leave lines behind.
    assert left_behind > 5 or (kind == "blocking" and not left_behind)
    # And when there is time enough, all of them come, although the call before left some behind.
    scorer.score(context(499, 6000), CANDIDATES, 0.0005)
    predictions, _ = scorer.score(context(500, 100), CANDIDATES, 60.0)
    assert predictions == [500_000 + candidate for candidate in range(1000)]


class FakeScorer:
    """Notes how it was asked, and predicts nothing at every other call."""

    def __init__(self) -> None:
        self.asked: list[tuple[bytes, int, float]] = []

    def score(
        self, context: bytes, candidates: list[bytes], limit_s: float
    ) -> tuple[list[float], Call]:
        self.asked.append((context, len(candidates), limit_s))
        return [0.5] * (len(self.asked) % 2), Call(total_s=0.25)


def test_each_call_after_the_warm_up_gives_one_figure_of_each_metric() -> None:
    worker = worker_file.read(WORKERS / "scoring" / "predict.toml")
    assert list(worker.variants) == list(WAYS)
    scorer = FakeScorer()
    warm_up(scorer, Problem(30), 0.25)  # type: ignore[arg-type]
    (_, lines, limit_s), *warming = scorer.asked
    assert (lines, limit_s > 10) == (1, True), "the first call waits for the model to start"
    assert {(lines, limit_s) for _, lines, limit_s in warming} == {(30, 0.25)}
    found = measure(scorer, Problem(30), 4, 0.25)  # type: ignore[arg-type]
    assert set(found) == set(worker.metrics)
    assert (found["lines"], found["predict"]) == ([0, 1, 0, 1], [0.25] * 4)
    assert len({context for context, _, _ in scorer.asked}) == WARM_UP_CALLS + 4


@pytest.mark.integration
def test_all_transports_predict_the_same_and_the_model_has_learnt() -> None:
    pytest.importorskip("vowpalwabbit")
    real_model, problem = vw.model_file(), Problem()
    candidates = [candidate.encode() for candidate in problem.candidates]
    inside = InProcessScorer([*vw.arguments(real_model), "--no_stdin"])
    outside = [make(vw.command(real_model)) for make in SCORERS.values()]
    right = 0
    for number in range(3):
        line = problem.context(number).encode()
        expected, _ = inside.score(line, candidates, 60.0)
        assert len(expected) == len(candidates) == 3000
        for scorer in outside:
            assert scorer.score(line, candidates, 60.0)[0] == pytest.approx(expected, abs=1e-5)
        right += sum(
            (score > 0.5) == (label > 0)
            for score, label in zip(expected, problem.labels(number), strict=True)
        )
    for scorer in [inside, *outside]:
        scorer.close()
    assert right > 0.6 * 3 * len(candidates), "better than the toss of a coin"

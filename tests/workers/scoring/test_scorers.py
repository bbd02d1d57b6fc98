"""Whose prediction is whose, by each way to ask a model, and what predict.py measures of it."""

import random

import pytest
import vw
from inprocess import InProcessScorer
from problem import Problem

from tests.workers.scoring.conftest import SCORERS, Build

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

"""Asking a model behind pipes: whose prediction is whose, and what becomes of one that fails."""

import fcntl
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import vw
from blocking import BlockingScorer
from inprocess import InProcessScorer
from model_process import PIPE_BYTES, ModelError
from problem import CONTEXTS, Problem

from tests.workers.scoring.models import SCORERS, answering, model
from waitbench.system.places import WORKERS

CANDIDATES = [b"c%d" % number for number in range(1000)]

# Answers "context 7 … c12" with 7012: every answer says which line it is for. Now and then it
# stops for a while.
IDENTIFYING = """
import sys, time, random
rng = random.Random({seed})
for line in sys.stdin.buffer:
    words = line.split()
    if rng.random() < {stall_share}:
        time.sleep(rng.uniform(0, {stall_s}))
    sys.stdout.buffer.write(b"%d\\n" % (int(words[1]) * 1000 + int(words[-1][1:])))
    sys.stdout.buffer.flush()
"""


def identifying(seed: int, stall_share: float = 0.0, stall_s: float = 0.0) -> list[str]:
    return model(IDENTIFYING.format(seed=seed, stall_share=stall_share, stall_s=stall_s))


def context(number: int, length: int) -> bytes:
    return b"context %d %s" % (number, b"x" * length)


@pytest.mark.parametrize("seed", range(4))
def test_every_prediction_belongs_to_its_line_whatever_the_calls_before_left_behind(
    build: Any, kind: str, seed: int
) -> None:
    rng = random.Random(seed)
    scorer = build(identifying(seed, 0.01, 0.03))
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
    if kind == "blocking":
        assert not left_behind
    else:
        assert left_behind > 5, "this test shows nothing unless calls leave lines behind"
    # And when there is time enough, all of them come, although the call before left some behind.
    scorer.score(context(499, 6000), CANDIDATES, 0.0005)
    predictions, _ = scorer.score(context(500, 100), CANDIDATES, 60.0)
    assert predictions == [500_000 + candidate for candidate in range(1000)]


GET_PIPE_SIZE = 1032


@pytest.mark.parametrize("is_refused", [False, True])
def test_all_models_have_pipes_of_one_size_where_the_system_refuses_larger_ones_too(
    build: Any, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: int) -> int:
        raise PermissionError(1, "refused")

    with monkeypatch.context() as patched:
        if is_refused:
            patched.setattr("model_process.fcntl.fcntl", refuse)
        process = build(answering("1")).process
    sizes = {fcntl.fcntl(one, GET_PIPE_SIZE) for one in (process.to_model, process.from_model)}
    assert sizes < {1 << 16, 1 << 12} if is_refused else sizes == {PIPE_BYTES}


@pytest.mark.parametrize(
    ("program", "about", "how", "words"),
    [
        (
            "import sys; sys.stdin.readline(); sys.exit('out of luck')",
            "closed its output|closed its input",
            "exit code 1",
            "out of luck",
        ),
        (
            "import os, sys; sys.stdin.readline(); os.kill(os.getpid(), 9)",
            "closed its",
            "exit code -9",
            "stderr is empty",
        ),
        (
            "import sys; print('warning: odd', file=sys.stderr)\n"
            "for line in sys.stdin: print('nonsense')",
            "b'nonsense' is not a prediction",
            "is running",
            "warning: odd",
        ),
    ],
)
def test_a_model_that_fails_is_named_with_its_last_words(
    build: Any, program: str, about: str, how: str, words: str
) -> None:
    scorer = build(model(program))
    with pytest.raises(ModelError, match=about) as raised:
        for _ in range(20):
            scorer.score(context(1, 1), CANDIDATES, 5.0)
    assert str(scorer.process.pid) in str(raised.value)
    assert how in str(raised.value)
    assert words in str(raised.value)


def test_more_answers_than_lines_are_refused(build: Any) -> None:
    scorer = build(answering("'1\\n2\\n3'"))
    with pytest.raises(ModelError, match="more lines than it was asked"):
        for _ in range(20):
            scorer.score(context(1, 1), CANDIDATES[:10], 5.0)


def test_a_model_that_hangs_is_given_up(build: Any) -> None:
    scorer = build(model("import time; time.sleep(600)"), stall_s=0.3)
    with pytest.raises(ModelError, match=r"did not answer for 0.3 s|has not answered for"):
        for _ in range(100):
            scorer.score(context(1, 1), CANDIDATES, 0.02)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match="no-such-program"):
        BlockingScorer(["no-such-program"])


def test_closing_kills_a_model_that_does_not_end(
    build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model_process._ENDS_WITHIN_S", 0.2)
    scorer = build(model("import time; time.sleep(600)"))  # says nothing: it hears of no end
    scorer.close()
    assert scorer.process._process.returncode == -9


def test_the_problem_is_the_same_everywhere_and_has_the_published_shape() -> None:
    problem = Problem()
    assert len(problem.candidates) == 3000
    assert problem.candidates == Problem().candidates
    assert problem.context(7) == Problem().context(7) != Problem(seed=2).context(7)
    contexts = [problem.context(number) for number in range(CONTEXTS)]
    assert all(
        [part[1] for part in line.split(" ") if part.startswith("|")] == list("defghi")
        for line in contexts
    )
    assert 400 < sum("|f f" in line for line in contexts) < 600, (
        "about half of the visitors are known"
    )


@pytest.fixture(scope="module")
def real_model() -> Path:
    pytest.importorskip("vowpalwabbit")
    return vw.model_file()


@pytest.mark.integration
def test_all_transports_predict_the_same_and_the_model_has_learnt(real_model: Path) -> None:
    problem = Problem()
    candidates = [candidate.encode() for candidate in problem.candidates]
    inside = InProcessScorer([*vw.arguments(real_model), "--no_stdin"])
    outside = [make(vw.command(real_model)) for make in SCORERS.values()]
    right = 0
    for number in range(3):
        line = problem.context(number).encode()
        expected, _ = inside.score(line, candidates, 60.0)
        assert len(expected) == len(candidates)
        for scorer in outside:
            assert scorer.score(line, candidates, 60.0)[0] == pytest.approx(expected, abs=1e-5)
        right += sum(
            (score > 0.5) == (label > 0)
            for score, label in zip(expected, problem.labels(number), strict=True)
        )
    for scorer in [inside, *outside]:
        scorer.close()
    assert right > 0.6 * 3 * len(candidates), "better than the toss of a coin"


@pytest.mark.integration
def test_our_model_program_speaks_as_vw_does() -> None:
    pytest.importorskip("vowpalwabbit")
    server = WORKERS / "scoring" / "vw_server.py"
    lines = "1 |a x\n'tag1 |a y\n|b z\n\n"
    done = subprocess.run(
        [sys.executable, str(server), "--quiet", "-p", "/dev/stdout"],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
    )
    answers = done.stdout.splitlines()
    assert [answer.split()[1:] for answer in answers] == [[], ["tag1"], []], (
        "a tag follows its prediction; an empty line gets none"
    )
    assert all(float(answer.split()[0]) >= 0 for answer in answers)

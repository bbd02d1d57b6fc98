"""What a scorer does not ask, does not believe, and after what it is not asked again."""

import pytest
from model_process import ModelError

from tests.workers.scoring.conftest import Build, answering


def test_what_is_more_than_a_line_is_refused_before_anything_is_asked(
    build: Build,
) -> None:
    scorer = build(answering("line.count('b')"))
    for context, candidate in ((b"who", b"b\nc"), (b"who\nelse", b"a")):
        with pytest.raises(ValueError, match=r"b'(b.*nc|who.*nelse)' is more than a line"):
            scorer.score(context, [b"a", candidate], 10.0)
    assert scorer.score(b"who", [b"b", b"bb"], 10.0)[0] == [1.0, 2.0]


@pytest.mark.parametrize("answer", ["inf", "nan tag", ""])
def test_what_is_not_a_number_is_not_a_prediction(build: Build, answer: str) -> None:
    scorer = build(answering(f"{answer!r} if 'b' in line else 1.7e308"))
    assert scorer.score(b"who", [b"a"] * 10, 10.0)[0] == [1.7e308] * 10, "whatever their sum"
    with pytest.raises(ModelError, match=f"b'{answer}' is not a prediction"):
        scorer.score(b"who", [b"a", b"b", b"c"], 10.0)
    with pytest.raises(ModelError, match="whose its answers are is not known"):
        scorer.score(b"who", [b"a"], 30.0)


FAILING = {
    "import sys; sys.stdin.readline(); sys.exit('out of luck')":
        r"closed its (in|out)put\. It ended with exit code 1; .*out of luck",
    "import os, sys; sys.stdin.readline(); os.kill(os.getpid(), 9)":
        r"closed its (in|out)put\. It ended with exit code -9; its stderr is empty",
    "import sys; print('warning: odd', file=sys.stderr)\nfor line in sys.stdin: print('nonsense')":
        r"b'nonsense' is not a prediction.* is running; .*warning: odd",
    answering("'1\\n2\\n3'"): "answered more lines than it was asked",
    "import time; time.sleep(600)":
        r"did not answer for 0.3 s|has not answered for",
}  # fmt: skip
"""What is said of models, with their last words."""


@pytest.mark.parametrize("program", FAILING)
def test_a_model_that_fails_or_hangs_is_named_with_its_last_words(
    build: Build, program: str
) -> None:
    scorer = build(program, stall_s=0.3 if "600" in program else 30)
    with pytest.raises(ModelError, match=FAILING[program]) as raised:
        for _ in range(100):
            scorer.score(b"who", [b"c%d" % number for number in range(10)], 0.02)
    assert str(scorer.process.pid) in str(raised.value)

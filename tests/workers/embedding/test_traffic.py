"""What clients ask, and whether an answer is theirs."""

import pytest
from traffic import Load, Questions

QUESTIONS = Questions(
    [["a", "b"], ["c", "d"]], [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]
)


def test_an_answer_is_right_but_for_rounding() -> None:
    assert QUESTIONS.is_answered_by(b"[[1.00001, 2], [3, 4]]", 0)
    assert QUESTIONS.is_answered_by(b"[[5, 6], [7, 8]]", 1)


@pytest.mark.parametrize(
    "content",
    [
        b"[[5, 6], [7, 8]]",
        b"[[3, 4], [1, 2]]",
        b"[[1.001, 2], [3, 4]]",
        b"[[1, 2]]",
        b"[[1, 2], [3, 4], [5, 6]]",
        b"[[1, 2], [3]]",
        b"[1, 2]",
        b'[["a", 2], [3, 4]]',
        b'{"error": "busy"}',
        b"[[1, 2], [3",
        b"\xff",
        b"7",
    ],
)
def test_other_vectors_and_anything_else_are_wrong(content: bytes) -> None:
    assert not QUESTIONS.is_answered_by(content, 0)


def test_a_load_without_an_answer_has_no_success() -> None:
    load = Load(2.0)
    assert (load.success_rate, load.requests_per_s) == (0.0, 0.0)
    load.statuses.update({"200": 3, "ConnectionRefusedError": 1})
    assert (load.success_rate, load.requests_per_s) == (0.75, 1.5)

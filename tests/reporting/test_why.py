"""The table of who wakes up, and its flame graph."""

import pytest

from tests.reasons import place, python, why
from waitbench.model.why import Frame
from waitbench.reporting.why import flames, folded, tables

BEFORE = why("v1", place("main", "spin", cpu=0.99, waits=False))
AFTER = why(
    "v2",
    place(
        "main", Frame("timely::worker::Worker::step_or_park"), wakeups=889, cpu=0.07, call="futex"
    ),
    place(python("get", "redis/client.py", 7), thread="Thread", process="child x", wakeups=5.04),
    remarks=("child y: no such thing.",),
)
STACKS = (place(*map(Frame, stack), wakeups=1) for stack in ("abcd", "abcde", "abcdef"))
(DEEP,) = tables("deep", [why("a", *STACKS)])


def test_a_flame_graph_has_each_function_with_both_revisions() -> None:
    (by_wakeups, wakeups), (by_cpu, cpu) = flames([BEFORE, AFTER])
    assert (by_wakeups, by_cpu) == ("v2 against v1, by wake-ups", "v2 against v1, by CPU")
    assert [(box.depth, box.name) for box in wakeups[:3]] == [
        (0, "all"), (1, "child x"), (2, "Thread"),
    ]  # fmt: skip
    assert cpu[0].figures == "v1 99 % of a CPU, v2 7 % of a CPU"
    assert flames([]) == ()


def test_a_function_lies_within_its_caller_and_beside_its_like() -> None:
    before = why(
        "v1", place("main", "spin", cpu=0.9, waits=False), place("main", "lock", wakeups=2)
    )
    after = why("v2", place("main", "park", wakeups=6), place("main", "lock", wakeups=2))
    (_, wakeups), _ = flames([before, after])
    boxes = {box.name.partition(" ")[0]: box for box in wakeups}
    assert boxes["park"].figures == "v1 0 wake-ups a second, v2 6 wake-ups a second"
    assert (boxes["park"].tone, boxes["lock"].tone) == ("more", "same")
    assert boxes["lock"].width == pytest.approx(0.4)
    assert boxes["park"].left == pytest.approx(boxes["lock"].left + boxes["lock"].width)
    assert boxes["lock"].depth == boxes["main"].depth + 1
    assert "spin" not in boxes


def test_of_a_revision_alone_no_function_is_more_or_less() -> None:
    ((_, boxes),) = flames([why("v1", place("main", wakeups=2))])
    assert {box.tone for box in boxes} == {"same"}


def test_folded_stacks_have_no_separator_within_a_name() -> None:
    stacks = folded(why("a", place(Frame("f;g"), wakeups=2), place(Frame("f;g"), wakeups=3)))
    assert stacks == {"wakeups": {"worker;MainThread;f,g": 5}, "cpu": {}}

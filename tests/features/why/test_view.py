"""The table of who wakes up, and its flame graph."""

from pathlib import Path

import pytest

from tests.features.why.reasons import place, python, why
from tests.frozen.checking import check
from tests.records import make_record, times
from tests.reporting.printing import lines_of
from tests.store.keeping import finish
from waitbench.features.why import store
from waitbench.features.why.extension import WhyExtension
from waitbench.features.why.samples import Frame
from waitbench.features.why.view import flames, folded, tables
from waitbench.model.errors import UsageError
from waitbench.pipeline import paging
from waitbench.reporting.console import print_tables
from waitbench.store import comparisons

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


def test_tables_fit_80_columns() -> None:
    shown = (*tables("idle", [BEFORE, AFTER]), DEEP)
    lines = lines_of(lambda console: print_tables(shown, console))
    assert max(map(len, lines)) <= 80
    check("console-80.txt", "\n".join([*lines, ""]), Path(__file__).parent / "expected")


def test_files_have_all_threads_and_a_line_with_a_whole_number_for_each_stack(
    tmp_path: Path,
) -> None:
    stacks = {"wakeups": {"a;b c": 1.25, "a": 0.0001}, "cpu": {"a;b c": 0.5}}
    store.write(tmp_path, "idle", [BEFORE, AFTER])
    assert store.of(tmp_path, "idle") == [BEFORE, AFTER]
    store.write_folded(tmp_path, "idle", "my/branch", stacks)
    assert (tmp_path / "idle.my-branch.wakeups.folded").read_text() == "a;b c 1250\n"
    assert (tmp_path / "idle.my-branch.cpu.folded").read_text() == "a;b c 500000\n"
    (tmp_path / "idle.json").touch()
    assert [path.name for path in WhyExtension().files(tmp_path)] == [
        "idle.my-branch.cpu.folded", "idle.my-branch.wakeups.folded", "idle.why.jsonl",
    ]  # fmt: skip
    (tmp_path / "idle.why.jsonl").write_text('{"revision": 3}\n')
    with pytest.raises(UsageError, match="is not a result file of waitbench"):
        store.of(tmp_path, "idle")


def test_a_page_has_the_places_and_flames_of_a_scenario(tmp_path: Path) -> None:
    record = make_record({label: [times(1, 1, 1)] * 3 for label in ("v1", "v2")})
    finish(tmp_path, record)
    store.write(tmp_path, record.scenario, [BEFORE, AFTER])
    page = paging.page_of(comparisons.read(tmp_path))
    (section,) = (it for it in page.sections if it.title == record.scenario)
    assert any("who wakes up while it waits" in table.title for table in section.tables)
    assert len(section.flames) == 2

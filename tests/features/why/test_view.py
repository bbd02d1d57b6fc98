"""The table of who wakes up, and its flame graph."""

from pathlib import Path

import pytest

from tests.conftest import Said
from tests.features.why.reasons import place, python, samples
from tests.frozen.checking import check
from tests.records import make_record, times
from tests.reporting.printing import lines_of
from tests.store.keeping import finish
from waitbench.features.why import samples as stored
from waitbench.features.why.samples import Frame
from waitbench.features.why.view import flames, tables
from waitbench.model.errors import UsageError
from waitbench.pipeline import paging
from waitbench.reporting.console import print_tables
from waitbench.store import comparisons

BEFORE = samples("v1", place("main", "spin", cpu=0.99, waits=False))
AFTER = samples(
    "v2",
    place(
        "main", Frame("timely::worker::Worker::step_or_park"), wakeups=889, cpu=0.07, call="futex"
    ),
    place(python("get", "redis/client.py", 7), thread="Thread", process="child x", wakeups=5.04),
    remarks=("child y: no such thing.",),
)
STACKS = (place(*map(Frame, stack), wakeups=1) for stack in ("abcd", "abcde", "abcdef"))
TITLE = "who wakes up while it waits, and from where · one extra run each"
(DEEP,) = tables(f"deep · {TITLE}", [samples("a", *STACKS)])


def test_a_flame_graph_has_each_function_with_both_revisions() -> None:
    (by_wakeups, wakeups), (by_cpu, cpu) = flames([BEFORE, AFTER])
    assert (by_wakeups, by_cpu) == ("v2 against v1, by wake-ups", "v2 against v1, by CPU")
    assert [(box.depth, box.name) for box in wakeups[:3]] == [
        (0, "all"), (1, "child x"), (2, "Thread"),
    ]  # fmt: skip
    assert cpu[0].figures == "v1 99 % of a CPU, v2 7 % of a CPU"
    assert flames([]) == ()


def test_a_function_lies_within_its_caller_and_beside_its_like() -> None:
    before = samples(
        "v1", place("main", "spin", cpu=0.9, waits=False), place("main", "lock", wakeups=2)
    )
    after = samples("v2", place("main", "park", wakeups=6), place("main", "lock", wakeups=2))
    (_, wakeups), _ = flames([before, after])
    boxes = {box.name.partition(" ")[0]: box for box in wakeups}
    assert boxes["park"].figures == "v1 0 wake-ups a second, v2 6 wake-ups a second"
    assert (boxes["park"].tone, boxes["lock"].tone) == ("more", "same")
    assert boxes["lock"].width == pytest.approx(0.4)
    assert boxes["park"].left == pytest.approx(boxes["lock"].left + boxes["lock"].width)
    assert boxes["lock"].depth == boxes["main"].depth + 1
    assert "spin" not in boxes


def test_of_a_revision_alone_no_function_is_more_or_less() -> None:
    ((_, boxes),) = flames([samples("v1", place("main", wakeups=2))])
    assert {box.tone for box in boxes} == {"same"}


def test_tables_fit_80_columns() -> None:
    shown = (*tables(f"idle · {TITLE}", [BEFORE, AFTER]), DEEP)
    lines = lines_of(lambda console: print_tables(shown, console))
    assert max(map(len, lines)) <= 80
    check("console-80.txt", "\n".join([*lines, ""]), Path(__file__).parent / "expected")


def test_only_a_file_of_ours_is_read(tmp_path: Path) -> None:
    stored.write(tmp_path, "idle", [BEFORE, AFTER])
    assert stored.read(tmp_path, "idle") == [BEFORE, AFTER]
    assert stored.read(tmp_path, "other") == []
    (tmp_path / "idle.why.jsonl").write_text('{"revision": 3}\n')
    with pytest.raises(UsageError, match="is not a result file of waitbench"):
        stored.read(tmp_path, "idle")


def test_a_page_has_the_places_and_flames_of_a_scenario(tmp_path: Path) -> None:
    record = make_record({label: [times(1, 1, 1)] * 3 for label in ("v1", "v2")})
    finish(tmp_path, record)
    stored.write(tmp_path, record.scenario, [BEFORE, AFTER])
    page = paging.page_of(comparisons.read(tmp_path))
    (section,) = (it for it in page.sections if it.title == record.scenario)
    assert any("who wakes up while it waits" in table.title for table in section.tables)
    assert len(section.flames) == 2


def test_samples_are_refused_where_threads_cannot_be_observed(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("waitbench.pipeline.request._select", None)  # it is not reached
    monkeypatch.setattr("waitbench.system.proc.has_schedstat", lambda: False)
    code, _, err = said("compare", "v0.16.0", "--why")
    assert (code, "--why needs /proc/<pid>/schedstat" in err) == (2, True), err

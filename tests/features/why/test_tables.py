"""The table of threads that wake up."""

from pathlib import Path

import pytest

from tests.conftest import Said
from tests.features.why.reasons import place, python, samples
from tests.frozen.checking import check
from tests.records import make_record, times
from tests.reporting.printing import lines_of
from tests.store.keeping import finish
from waitbench.features.why import samples as stored
from waitbench.features.why.lines import tables
from waitbench.features.why.samples import Frame
from waitbench.model.errors import UsageError
from waitbench.pipeline.concluding import page_of
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


def test_a_page_has_the_places_of_a_scenario(tmp_path: Path) -> None:
    record = make_record({label: [times(1, 1, 1)] * 3 for label in ("v1", "v2")})
    finish(tmp_path, record)
    stored.write(tmp_path, record.scenario, [BEFORE, AFTER])
    page = page_of(comparisons.read(tmp_path))
    (section,) = (it for it in page.sections if it.title == record.scenario)
    assert any("who wakes up while it waits" in table.title for table in section.tables)


def test_samples_are_refused_where_threads_cannot_be_observed(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("waitbench.pipeline.request._select", None)  # it is not reached
    monkeypatch.setattr("waitbench.system.proc.has_schedstat", lambda: False)
    code, _, err = said("compare", "v0.16.0", "--why")
    assert (code, "--why needs /proc/<pid>/schedstat" in err) == (2, True), err

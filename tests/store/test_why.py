"""Files of where workers wait."""

from pathlib import Path

import pytest

from tests.reasons import why
from waitbench.model.errors import UsageError
from waitbench.store import why as store


def test_what_is_not_ours_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.why.jsonl").write_text('{"revision": 3}\n')
    with pytest.raises(UsageError, match="is not a result file of waitbench"):
        store.of(tmp_path, "x")


def test_folded_stacks_are_a_line_each_with_a_whole_number(tmp_path: Path) -> None:
    stacks = {"wakeups": {"a;b c": 1.25, "a": 0.0001}, "cpu": {"a;b c": 0.5}}
    store.write(tmp_path, "idle", [why("x")])
    store.write_folded(tmp_path, "idle", "my/branch", stacks)
    assert (tmp_path / "idle.my-branch.wakeups.folded").read_text() == "a;b c 1250\n"
    assert (tmp_path / "idle.my-branch.cpu.folded").read_text() == "a;b c 500000\n"
    (tmp_path / "idle.json").touch()
    assert [one.name for one in store.paths(tmp_path)] == [
        "idle.my-branch.cpu.folded", "idle.my-branch.wakeups.folded", "idle.why.jsonl",
    ]  # fmt: skip

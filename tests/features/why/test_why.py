"""``--why`` as a user would ask for it."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests import standin
from tests.conftest import Compare
from tests.execution.made_runs import scenario
from waitbench.execution.bench import Bench
from waitbench.features.why import extension
from waitbench.model.errors import HarnessError
from waitbench.reporting.console import make_console
from waitbench.reporting.output import RunProgress

pytestmark = pytest.mark.integration
ARGUMENTS = ("-s", "dynamic", "--rounds", "2", "--no-plot")

NOTES = """do
with open({path!r}, "a") as file:
    print("BENCH_WAITING" in os.environ, file=file)
"""
"""Notes whether a run is looked at."""


def test_it_adds_a_run_a_revision_behind_all_that_are_measured_and_files_of_its_own(
    run_compare: Compare, tmp_path: Path
) -> None:
    notes = NOTES.format(path=str(tmp_path / "starts"))
    revisions = [
        standin.revision(tmp_path / one, f"{notes}# {one}", one) for one in ("first", "second")
    ]
    done = run_compare(*revisions, *ARGUMENTS, "--why")
    assert done.returncode == 0, done.stderr
    assert "who wakes up while it waits" in done.stdout
    waiting = [line == "True" for line in (tmp_path / "starts").read_text().splitlines()]
    assert waiting == [*(False for _ in waiting[2:]), True, True]
    assert len(waiting) >= 2 * 2 + 2, "rounds and these"
    results = tmp_path / "results"
    own = {path.name for path in results.glob("*.why.jsonl")}
    assert {path.name for path in results.iterdir() if path.is_file()} - own == {
        "comparison.json", "runs.jsonl", "dynamic.json", "runs.csv",
    }  # fmt: skip
    assert own


def test_a_revision_that_could_not_be_sampled_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise HarnessError("it hung\nlast words")

    monkeypatch.setattr("waitbench.features.why.extension.sample_run", fail)
    bench = SimpleNamespace(environments=["v3"], what_is_missing=lambda *_: None)
    log = RunProgress(make_console(), quiet=False)
    assert extension._sampled(scenario("idle"), cast(Bench, bench), log) == []
    assert "v3: not sampled: it hung\n" in capsys.readouterr().out

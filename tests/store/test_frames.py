"""Results for notebooks."""

from pathlib import Path

import pytest

import waitbench
from waitbench.store import comparisons
from waitbench.system.places import ROOT

SAMPLE = ROOT / "docs" / "samples" / "waiting"


def test_runs_are_the_rows_of_the_file_of_all_runs() -> None:
    found = waitbench.read(str(SAMPLE))
    assert found.revisions == ("v0.16.0", "v0.16.1", "v0.21.1")
    assert found.folder == SAMPLE
    assert found.verdict is None
    rows = (SAMPLE / "runs.csv").read_text().splitlines()
    assert len(found.runs) == len(rows) - 1
    records = {one.scenario: one for one in comparisons.read(SAMPLE).records}
    for (scenario, revision), group in found.runs.groupby(["scenario", "revision"]):
        runs = records[scenario].of(revision)
        assert group["time_cpu"].dropna().tolist() == [run.metrics["time_cpu"] for run in runs]
    assert found.runs["started_at"].dt.year.min() >= 2020


def test_the_verdict_is_that_of_the_gate(tmp_path: Path) -> None:
    comparisons.write_document(tmp_path, "verdict", {"outcome": "pass"})
    found = waitbench.read(tmp_path)
    assert found.verdict is not None
    assert (found.verdict["outcome"], found.revisions, len(found.runs)) == ("pass", (), 0)


def test_where_there_are_no_results_is_a_value_error(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match="Measure first"):
            waitbench.read(folder)

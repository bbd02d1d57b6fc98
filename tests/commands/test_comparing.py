"""Comparisons of the stand-in: what is measured, said and kept, and what is not."""

import csv
import json
from pathlib import Path

import pytest

from tests import standin
from tests.conftest import Compare

pytestmark = pytest.mark.integration


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "runs.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.smoke
def test_an_a_a_comparison_of_a_wheel_is_measured_tabulated_charted_and_called_identical(
    run_compare: Compare, tmp_path: Path
) -> None:
    wheel = str(standin.write_wheel(tmp_path / "w"))
    scenarios = ["--scenario", "partitioned", "--scenario", "dynamic"]
    done = run_compare(f"A={wheel}", f"B={wheel}", *scenarios, "--rounds", "2", "-v")
    assert done.returncode == 0, done.stderr
    results = tmp_path / "results"
    assert sorted(path.name for path in results.iterdir()) == [
        "comparison.json", "dynamic.json", "overview.png", "partitioned.json",
        "runs.csv", "runs.jsonl",
    ]  # fmt: skip
    measured = [row for row in rows(results) if row["outcome"] == "ok"]
    assert len(measured) == 8
    order = [(r["round"], r["revision"]) for r in measured if r["scenario"] == "partitioned"]
    assert order == [("1", "B"), ("1", "A"), ("2", "A"), ("2", "B")]
    assert "B against A" in done.stdout
    assert "B is the same build as A: what differs is chance" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 200
    # A scenario's table is there before the next scenario is measured; the summary ends it.
    table, next_run = (
        done.stdout.index("partitioned · 1 process"),
        done.stdout.index("dynamic warm-up"),
    )
    assert table < next_run < done.stdout.index("RESULT   B against A")


def test_json_on_stdout_is_only_json(
    run_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    wheel = standin.revision(tmp_path / "w")
    done = run_compare(wheel, "--scenario", "dynamic", "--rounds", "1", "--json", "--no-plot")
    assert {one["scenario"] for one in json.loads(done.stdout)["results"]} == {"dynamic"}
    assert "round 1" in done.stderr

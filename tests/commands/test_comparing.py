"""Comparisons of the stand-in: what is measured, said and kept, also of those that are stopped."""

import csv
import json
import signal
from pathlib import Path

import pytest

from tests import standin
from tests.commands.processes import start, wait_for_runs
from tests.conftest import Compare
from tests.running import processes_with
from tests.waiting import until
from waitbench.model.run import Measurement
from waitbench.store import comparisons

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
        "comparison.json", "costs.png", "dynamic.json", "overview.png", "partitioned.json",
        "runs.csv", "runs.jsonl",
    ]  # fmt: skip
    measured = [row for row in rows(results) if row["outcome"] == "ok"]
    assert len(measured) == 8
    order = [(r["round"], r["revision"]) for r in measured if r["scenario"] == "partitioned"]
    assert order[:2] == [("1", order[0][1]), ("1", order[1][1])]
    assert [label for _, label in order] in (["A", "B", "B", "A"], ["B", "A", "A", "B"])
    assert "A → B" in done.stdout
    assert "B is the same build as A: " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 200
    places = [
        *map(
            done.stdout.index,
            ("dynamic · round 2 of 2", "partitioned · 1 process", "RESULT   A → B"),
        )
    ]
    assert places == sorted(places)


def test_json_on_stdout_is_only_json(
    run_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    wheel = standin.revision(tmp_path / "w")
    done = run_compare(wheel, "--scenario", "dynamic", "--rounds", "1", "--json", "--no-plot")
    assert {one["scenario"] for one in json.loads(done.stdout)["results"]} == {"dynamic"}
    assert "round 1" in done.stderr


COMMON = ("--scenario", "dynamic", "--no-plot")


def measured(folder: Path) -> dict[tuple[str, int], Measurement]:
    (record,) = comparisons.read(folder).records
    return {(run.label, run.round): run for run in record.measurements}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_comparison_keeps_its_runs_leaves_no_process_and_resumes(
    how: signal.Signals, run_compare: Compare, tmp_path: Path
) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 0.5")
    results = tmp_path / "results"
    arguments = [f"A={wheel}", f"B={wheel}", *COMMON, "--rounds", "4", "--results", results]
    process = start(*arguments)
    wait_for_runs(results, 3)
    process.send_signal(how)
    said, _ = process.communicate(timeout=10)
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    so_far = said.partition("Interrupted. The result so far:")[2]
    assert ("RESULT   A → B, so far" in so_far) is (how != signal.SIGKILL)
    assert (results / "runs.csv").exists() is (how != signal.SIGKILL)
    until(lambda: not processes_with(str(results)), each_s=0.05)
    kept = measured(results)
    assert kept
    done = run_compare(*arguments, "--resume")
    assert done.returncode == 0, done.stderr
    after = measured(results)
    assert sorted(after) == [(label, number) for label in "AB" for number in range(1, 5)]
    whole = {key: run for key, run in kept.items() if {("A", key[1]), ("B", key[1])} <= set(kept)}
    assert whole
    assert {key: after[key] for key in whole} == whole, "what was measured is not measured again"
    half = kept.keys() - whole.keys()
    assert all(after[key] != kept[key] for key in half), "half a round is measured anew"
    assert comparisons.read(results).comparison.finished

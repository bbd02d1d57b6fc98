"""Other engines beside bytewax: the same work, accounted for whole."""

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Compare

pytestmark = pytest.mark.integration

SHORT = ("--set", "interval=0.02", "--set", "idle=0.3", "--set", "heaviness=2000")
MEASURED = ("-s", "partitioned-long-input", "-s", "partitioned-windowed")
PARTS = ("startup", "steady", "shutdown", "helpers", "launcher")


def test_engines_and_their_settings_are_measured_side_by_side(
    run_compare: Compare, tmp_path: Path
) -> None:
    folder = tmp_path / "engines"
    named = ["v0.21.1", "v0.21.1+awake_ms:5", "python@floor", "L=v0.21.1+tomli==2.0.1"]
    done = run_compare(
        *named, *SHORT, *MEASURED, "--rounds", "1", "--results", folder, command="engines"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    labels = [*named[:3], "L"]
    for scenario in MEASURED[1::2]:
        data = json.loads((folder / f"{scenario}.json").read_text())
        assert {result["command"] for result in data["results"]} == set(labels)
        for run in (run for result in data["results"] for run in result["measurements"]):
            assert "unbalanced" not in run["marks"]
            used = sum(run[f"time_cpu_{part}"]["value"] for part in PARTS)
            assert used == pytest.approx(run["time_cpu"]["value"], rel=0.02, abs=0.005)
    assert "engines · what waiting costs" in done.stdout
    assert "python: a thread for each source" in done.stdout.replace("\n", " ")
    assert (folder / "engines.png").exists()
    comparison = json.loads((folder / "comparison.json").read_text())
    assert [one["engine"] for one in comparison["revisions"]] == ["bytewax", "bytewax", "python",
                                                                 "bytewax"]  # fmt: skip
    beside = comparison["revisions"][3]
    assert beside["beside"] == ["tomli==2.0.1"]
    assert "tomli==2.0.1" in beside["environment"]["requirements"]
    assert comparison["revisions"][1]["settings"] == {"awake_ms": "5"}


def test_an_engine_that_the_machine_cannot_run_is_an_outcome_and_the_others_are_measured(
    run_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_cargo = os.pathsep.join(
        folder
        for folder in os.environ["PATH"].split(os.pathsep)
        if not (Path(folder) / "cargo").exists()
    )
    monkeypatch.setenv("PATH", without_cargo)
    named = ("python@floor", "timely@0.32.0")
    quickly = ("--rounds", "1", "--no-plot", "--no-instruments")
    done = run_compare(*named, "-s", "partitioned-idle", *SHORT, *quickly)
    assert (done.returncode, "https://rustup.rs" in done.stdout) == (3, True), done.stderr
    data = json.loads((tmp_path / "results" / "partitioned-idle.json").read_text())
    measured = {result["command"]: len(result["measurements"]) for result in data["results"]}
    assert measured["python@floor"] == 1
    (outcome,) = data["outcomes"]
    assert (outcome["label"], outcome["reason"]) == ("timely@0.32.0", "not-built")
    assert "no cargo" in outcome["message"]

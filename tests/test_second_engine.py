"""The seam for engines is real: another engine goes all the way."""

import json
from pathlib import Path

import pytest

from tests import standin
from tests.conftest import Compare

pytestmark = pytest.mark.integration
ACCEPTED = """
[[accepted]]
criterion = "cpu"
scenario = "dyn*"
reason = "It does more."
until = 2127-03-31
"""


@pytest.mark.smoke
def test_another_engine_is_compared_gated_charted_reported_and_accepted(
    run_compare: Compare, tmp_path: Path
) -> None:
    quick = standin.revision(tmp_path / "quick", label="quick")
    slow = standin.revision(tmp_path / "slow", "burn 0.2", label="slow")
    gate = ["--fail-on", "cpu:20%", "--rounds", "16"]
    done = run_compare(quick, slow, "-s", "dynamic", *gate)
    assert done.returncode == 1, done.stdout + done.stderr
    results = tmp_path / "results"
    comparison = json.loads((results / "comparison.json").read_text())
    assert comparison["revisions"][0]["engine"] == "standin"
    facts = comparison["revisions"][0]["environment"]
    assert (facts["package_version"], facts["capabilities"]) == ("0.0.1", ["hello"])
    charts = run_compare(results, "--format", "svg", command="plot")
    assert (charts.returncode, "overview.svg" in charts.stdout) == (0, True), charts.stderr
    report = run_compare(results, command="report")
    assert (report.returncode, "slow against quick" in report.stdout) == (0, True), report.stderr
    (tmp_path / "accepted.toml").write_text(ACCEPTED)
    options = ("--accepted", tmp_path / "accepted.toml", "--results", tmp_path / "passed")
    passed = run_compare(quick, slow, "-s", "dynamic", *gate, *options, "--no-plot")
    assert passed.returncode == 0, passed.stdout
    assert "1 regression accepted" in passed.stdout
    assert "It does more." in passed.stdout

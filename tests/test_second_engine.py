"""The seam for engines is real: another engine goes all the way."""

import json
import re
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
    assert re.search(r"FAIL: slow: CPU in all (\+[0-9]+ %|[0-9.]+× more) in dynamic", done.stdout)
    results = tmp_path / "results"
    assert "<failure" in (results / "verdict.xml").read_text()
    comparison = json.loads((results / "comparison.json").read_text())
    assert comparison["revisions"][0]["engine"] == "standin"
    facts = comparison["revisions"][0]["environment"]
    assert (facts["package_version"], facts["capabilities"]) == ("0.0.1", ["hello"])
    assert json.loads((results / "verdict.json").read_text())["outcome"] != "pass"
    charts = run_compare(results, "--format", "svg", command="plot")
    assert (charts.returncode, "overview.svg" in charts.stdout) == (0, True), charts.stderr
    assert "slow" in (results / "overview.svg").read_text()
    report = run_compare(results, command="report")
    assert (report.returncode, "slow against quick" in report.stdout) == (0, True), report.stderr
    (tmp_path / "accepted.toml").write_text(ACCEPTED)
    passed = run_compare(
        quick, slow, "-s", "dynamic", *gate, "--accepted", tmp_path / "accepted.toml",
        "--no-plot", "--results", tmp_path / "passed",
    )  # fmt: skip
    assert (passed.returncode, "PASS" in passed.stdout) == (0, True), passed.stdout
    assert "1 regression accepted" in passed.stdout
    assert "It does more." in passed.stdout

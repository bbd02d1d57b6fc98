"""The seam for engines is real: another engine goes all the way, and no general module knows it."""

import json
import re
from pathlib import Path

import pytest

from tests import standin
from tests.conftest import Compare
from waitbench.system.places import PACKAGE

pytestmark = pytest.mark.integration


@pytest.mark.smoke
def test_another_engine_is_compared_gated_charted_and_reported(
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
    passed = run_compare(
        slow, quick, "-s", "dynamic", *gate, "--no-plot", "--results", tmp_path / "reversed"
    )
    assert (passed.returncode, "PASS" in passed.stdout) == (0, True), passed.stdout


def test_no_general_module_knows_the_other_engine() -> None:
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        assert "standin" not in text, path
        assert "stand-in" not in text, path

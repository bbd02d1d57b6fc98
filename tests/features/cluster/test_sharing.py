"""Shards measured by compare, and what merge makes of them."""

import json
from pathlib import Path

import pytest

from tests import standin
from tests.conftest import Compare

pytestmark = pytest.mark.integration

SCENARIOS = ("partitioned", "dynamic", "partitioned-heavy-map")
NAMED = [word for name in SCENARIOS for word in ("-s", name)]
GATE = ["--fail-on", "cpu:10%", "--fail-on", "cpu:10%,each", "--rounds", "16"]


@pytest.fixture
def revisions(tmp_path: Path) -> list[str]:
    """One, and one that costs many times as much: that is certain beside any noise."""
    return [
        standin.revision(tmp_path / "light", "burn 0.02", label="light"),
        standin.revision(tmp_path / "heavy", "burn 0.2", label="heavy"),
    ]


@pytest.mark.smoke
def test_a_shard_measures_its_scenarios_and_leaves_the_verdict_to_merge(
    revisions: list[str], run_compare: Compare, tmp_path: Path
) -> None:
    folders = [tmp_path / f"shard-{number}" for number in (1, 2)]
    for number, folder in enumerate(folders, 1):
        options = [*NAMED[:4], *GATE, "--shard", f"{number}/2", "--no-plot", "--results", folder]
        done = run_compare(*revisions, *options)
        assert done.returncode == 0, "a shard has no verdict: " + done.stdout + done.stderr
        assert "FAIL" not in done.stdout
        assert not (folder / "verdict.json").exists()
    measured = [{path.stem for path in folder.glob("*.json")} for folder in folders]
    assert set.union(*measured) == {*SCENARIOS[:2], "comparison"}
    assert set.intersection(*measured) == {"comparison"}
    options = ["--results", tmp_path / "whole", "--no-plot"]
    done = run_compare(*folders, *options, "--json", command="merge")
    assert done.returncode == 1, done.stdout + done.stderr
    verdict = json.loads(done.stdout)["verdict"]
    assert (verdict["outcome"], len(verdict["judgements"])) == ("fail", 3)
    assert (tmp_path / "whole" / "verdict.xml").exists()
    settings = json.loads((tmp_path / "whole" / "comparison.json").read_text())
    assert settings["share"] is None
    assert "--shard" not in settings["argv"]

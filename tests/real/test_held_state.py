"""A release that spins while it holds state: found, gated, and named among its releases."""

import json
from pathlib import Path

import pytest

from tests import held
from tests.conftest import Compare

pytestmark = pytest.mark.integration

SHORT = ("--set", "interval=0.02", "--set", "idle=0.3")
ASKED = ("-s", "partitioned-windowed", *SHORT, "--fail-on", "steady:50%", "--max-rounds", "10")


def test_a_release_that_spins_while_state_is_held_is_gated_and_named(
    run_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with held.index(tmp_path / "index", 4, spinning_from=2) as (url, versions):
        monkeypatch.setenv("PIP_INDEX_URL", url)
        first, before, after, last = (f"held@{version}" for version in versions)
        gate = run_compare(before, after, *ASKED, "-s", "partitioned-idle", "--no-instruments")
        assert gate.returncode == 1, gate.stdout + gate.stderr
        (verdict,) = (one for one in gate.stdout.splitlines() if "FAIL: " in one)
        assert f"FAIL: {after.removeprefix('held@')}: " in verdict
        said = " ".join(gate.stdout.split())
        assert "in partitioned-windowed" in said[said.index("FAIL: ") :]
        assert "more in partitioned-idle" not in said
        beside = f"+{held.LIBRARY}"
        search = run_compare(
            *(first + beside, last + beside, "--releases", *ASKED, "--json"),
            *("--results", tmp_path / "search"),
            command="bisect",
        )
        assert search.returncode == 0, search.stderr
    said = json.loads(search.stdout)
    (stage,) = said["stages"]
    assert stage["findings"] == [{"kind": "culprit", "good": versions[1], "bad": versions[2]}]
    assert f"./compare.sh {before}{beside} {after}{beside}" in said["repeat"][0]
    steps = [
        json.loads(path.read_text()) for path in (tmp_path / "search").rglob("comparison.json")
    ]
    assert [one["beside"] for step in steps for one in step["revisions"]] == [
        [held.LIBRARY] for step in steps for _ in step["revisions"]
    ], "what is beside the ends is beside every point"

"""Several workers on real releases: what each opens for itself, it keeps."""

import json
from pathlib import Path

import pytest

from tests.conftest import Compare

pytestmark = pytest.mark.integration


def test_each_worker_opens_one_connection(run_compare: Compare, tmp_path: Path) -> None:
    done = run_compare(
        "v0.16.1", "v0.21.1", "-s", "embedding-direct",
        "--rounds", "1", "--set", "items_per_worker=10",
        "--processes", "2", "--workers", "2", "--no-plot", "--no-instruments", timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for scenario in ("embedding-direct",):
        data = json.loads((tmp_path / "results" / f"{scenario}.json").read_text())
        # A run that opened more has failed.
        assert {outcome["reason"] for outcome in data["outcomes"]} <= {"disturbed"}
        assert all(result["measurements"] for result in data["results"])

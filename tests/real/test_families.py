"""Workers that wait for something else than input, on real releases; and the families' commands."""

import json
from pathlib import Path

import pytest

from tests.conftest import Compare

pytestmark = pytest.mark.integration

RELEASES = ["v0.16.1", "v0.21.1"]
"""The oldest generation of the API and the newest: all of them are in test_workloads.py."""


def test_a_worker_that_waits_for_a_service_runs_on_the_oldest_and_the_newest_api(
    run_compare: Compare, tmp_path: Path
) -> None:
    done = run_compare(
        *RELEASES, "-s", "embedding-direct", "-s",
        "embedding-proxy-adaptive", "--rounds", "1", "--set", "items_per_worker=30", "--no-plot",
        "--no-instruments", "--topology", "single", timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for mode in ("direct", "proxy-adaptive"):
        data = json.loads((tmp_path / "results" / f"embedding-{mode}.json").read_text())
        for result in data["results"]:
            # Services are not the worker's: their CPU is told apart, in no total of hyperfine's.
            assert ("service_cpu_proxy" in result["summary"]) == (mode != "direct")
            assert "service_cpu_embedder" in result["summary"]
            if mode != "direct":
                assert result["summary"]["upstream_calls"]["mean"] >= 30
    assert "one request at a time" in done.stdout


def test_a_load_is_put_on_the_services_and_kept(run_compare: Compare, tmp_path: Path) -> None:
    folder = tmp_path / "load"
    quick = ["--mode", "direct", "--mode", "proxy-adaptive", "--duration", "1"]
    quick += ["--connections", "20"]
    done = run_compare(*quick, "--results", folder, command="load", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    modes = json.loads((folder / "load.json").read_text())["modes"]
    assert [mode["success_rate"] for mode in modes.values()] == [1.0, 1.0]
    assert all(mode["checked"] > 0 and mode["wrong"] == 0 for mode in modes.values())
    assert "requests per second" in run_compare(folder, command="report").stdout

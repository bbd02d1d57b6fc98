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


@pytest.mark.parametrize("device", ["noop", "passthrough", "file"])
def test_a_worker_that_waits_for_its_output_runs_on_the_oldest_and_the_newest_api(
    run_compare: Compare, tmp_path: Path, device: str
) -> None:
    done = run_compare(
        *RELEASES, "-s", "paged-output-*-noop", "--rounds", "1",
        "--set", "items_per_worker=2000", "--set", f"device={device}", "--no-plot",
        "--no-instruments", "--topology", "single", timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for output in ("regular", "paged"):
        data = json.loads((tmp_path / "results" / f"paged-output-{output}-noop.json").read_text())
        for result in data["results"]:
            assert result["summary"]["messages_sent"]["mean"] == 2000
            assert result["summary"]["messages_dropped"]["mean"] == 0
            assert all("unbalanced" not in run["marks"] for run in result["measurements"])


def test_the_published_tables_of_paged_output_are_made(
    run_compare: Compare, tmp_path: Path
) -> None:
    folder = tmp_path / "paged"
    quick = ["--repetitions", "1", "--largest", "10000"]
    done = run_compare(*quick, "--results", folder, command="paged-output")
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder / "paging.json").read_text())["rows"]
    assert [(row["row"]["device"], row["dropped"]) for row in rows] == [
        ("noop", 0),
        ("passthrough", 0),
    ]
    for row in rows:
        assert row["bytes_held_peak"] <= 40_000 * 25 + 4096
    assert (folder / "paged-output.png").exists()
    again = run_compare(folder, command="report")
    assert "speed-up" in again.stdout


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

"""Phases of worker files, end to end as a user has them."""

import json
from pathlib import Path

import pytest

from tests.conftest import Compare
from tests.execution.launches import CALM
from tests.phased import CODE, TABLES

pytestmark = pytest.mark.integration
HEAD = """
variants = ["never", "gone", "ends"]
files = ["code.py"]
command = "{python} code.py {other.port} {revision}"
"""
QUICKLY = ("-s", "mine", "-s", "gone", "--no-plot", "--rounds", "1")


def worker(folder: Path, of_gone: str = "") -> Path:
    (folder / "code.py").write_text(CODE)
    stops = 'stop = "other"'
    path = folder / "mine.toml"
    path.write_text(HEAD + CALM + TABLES.replace(stops, f"{stops}\n{of_gone}"))
    return path


def cpu_s(folder: Path, scenario: str) -> dict[str, float]:
    """In the window, of each revision that was measured."""
    results = json.loads((folder / "results" / f"{scenario}.json").read_text())["results"]
    return {
        one["command"]: run["time_cpu_steady"]["value"]
        for one in results
        for run in one["measurements"]
    }


@pytest.mark.parametrize(
    ("of_gone", "exit_code", "said"),
    [
        ("", 3, "failed: it ended with exit code 7 before it was settled in its phase gone"),
        ("may_end = true", 0, "ended: it ended with exit code 7 before it was settled in its"),
    ],
)
def test_a_worker_that_ends_without_its_service_is_an_outcome_of_that_scenario_alone(
    of_gone: str, exit_code: int, said: str, run_compare: Compare, tmp_path: Path
) -> None:
    done = run_compare("never", "ends", "--worker", worker(tmp_path, of_gone), *QUICKLY)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())
    assert [[*cpu_s(tmp_path, name)] for name in ("mine", "mine-gone")] == [
        ["never", "ends"],
        ["never"],
    ]

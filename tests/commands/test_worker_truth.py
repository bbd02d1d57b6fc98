"""Workers that mislead, measured end to end: what is said is true, or nothing is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Compare

pytestmark = pytest.mark.integration
QUICKLY = ("--no-plot", "--rounds", "1", "--set", "window=0.3")


def runs_in(folder: Path) -> dict[str, Any]:
    """The last run of each revision, as ``runs.jsonl`` has it."""
    lines = (folder / "runs.jsonl").read_text().splitlines()
    return {run["revision"]: run for run in map(json.loads, lines)}


LIES = """
import json, os, time
assert "PYTHONPATH" not in os.environ
lie = {"items_in": 0, "items_out": 0, "polls": 0, "lateness_ns": [[5, 1000]], "lateness_max_ns": 5}
with open("../probes/process-1.json", "w") as file: json.dump(lie, file)
print("ready", flush=True)
while True: time.sleep(1)
"""


def test_a_worker_does_not_write_its_own_lateness(run_compare: Compare, tmp_path: Path) -> None:
    (tmp_path / "lies.py").write_text(LIES)
    (tmp_path / "lies.toml").write_text(
        'variants = ["lies"]\nfiles = ["lies.py"]\ncommand = "{python} lies.py {revision}"\n'
        'ready = { log = "ready" }\n[poke]\ncommand = "echo lateness 0.25"\n'
    )
    done = run_compare("lies", "--worker", tmp_path / "lies.toml", *QUICKLY)
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = runs_in(tmp_path / "results")["lies"]["metrics"]
    lateness = {metrics[f"item_latency_{one}"] for one in ("p50", "p99", "max")}
    assert lateness == {0.25}

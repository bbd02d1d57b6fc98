"""Variants that end by themselves and measure themselves, end to end as a user does."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import Compare

pytestmark = pytest.mark.integration
WORKER = """
variants = ["slow", "fast"]
files = ["load.py"]
command = "{python} load.py {revision} {calls} {metrics}"
window = "until-exit"
ready = { log = "ready" }
parameters = { calls = 3 }
[scenarios.few]
[scenarios.many]
calls = 9
[metrics.call-time]
unit = "s"
show = ["p50", "max", "count"]
"""
LOAD = """
import json, sys, time
variant, calls, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
print("ready", flush=True)
for _ in range(calls):
    with open(path, "a") as file:
        print(json.dumps({"call-time": 0.5 if variant == "slow" else 0.25}), file=file)
time.sleep(0.1)
"""
QUICKLY = ("--no-plot", "--rounds", "1")


def worker(folder: Path, load: str = LOAD) -> Path:
    (folder / "load.py").write_text(load)
    (folder / "load.toml").write_text(WORKER)
    return folder / "load.toml"


@pytest.mark.smoke
def test_variants_are_compared_by_what_they_write(run_compare: Compare, tmp_path: Path) -> None:
    done = run_compare("slow", "fast", "--worker", worker(tmp_path), *QUICKLY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "load-many · what the command measured" in done.stdout
    assert "same build" not in done.stdout
    for scenario, calls in (("load-few", 3), ("load-many", 9)):
        exported = json.loads((tmp_path / "results" / f"{scenario}.json").read_text())
        of_variants = {one["command"]: one["measurements"][0] for one in exported["results"]}
        medians = {name: run["own_call_time_p50"] for name, run in of_variants.items()}
        assert medians == {
            "slow": {"value": 0.5, "unit": "second"},
            "fast": {"value": 0.25, "unit": "second"},
        }
        for run in of_variants.values():
            assert run["own_call_time_count"]["value"] == calls
            assert run["time_window"]["value"] > 0
            assert run["time_cpu_window"]["value"] > 0
            assert "time_cpu_idle" not in run
    kept = json.loads((tmp_path / "results" / "comparison.json").read_text())
    assert [one["origin"] for one in kept["revisions"]] == ["variant", "variant"]
    assert "own_call_time_max" in (tmp_path / "results" / "runs.csv").read_text()
    told = run_compare(tmp_path / "results", command="report")
    assert "call-time p50" in told.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("other", "fast"), "'other' is not a variant of load. There are: slow, fast."),
        (("slow", "fast", "--fail-on", "call-time-p99:1%"), "call-time-p50"),
        (("slow", "--origin", "source"), "--origin source: slow has no sources"),
    ],
)
def test_what_variants_do_not_have_is_refused(
    options: Sequence[str], said: str, run_compare: Compare, tmp_path: Path
) -> None:
    done = run_compare(*options, "--worker", worker(tmp_path), *QUICKLY)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in " ".join(done.stderr.split())


def test_a_worker_says_which_pythons_it_takes(run_compare: Compare, tmp_path: Path) -> None:
    path = worker(tmp_path)
    path.write_text(f'python = "<3.0"\n{WORKER}')
    done = run_compare("slow", "--worker", path, *QUICKLY)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "No Python fits every revision" in done.stderr
    assert "slow (variant): none" in done.stderr

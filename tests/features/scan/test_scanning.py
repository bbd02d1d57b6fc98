"""A scan as a user runs one: each value is measured in turn, and said."""

import json
from pathlib import Path

import pytest

from tests import standin
from tests.commands.idle_workers import program, worker
from tests.conftest import Compare

pytestmark = pytest.mark.integration


@pytest.mark.smoke
def test_a_scan_is_measured_in_turn_tabulated_and_reported(
    run_compare: Compare, tmp_path: Path
) -> None:
    wheel = standin.revision(tmp_path / "w")
    options = ["-s", "partitioned", "--scan", "partitions=2,4,8", "--rounds", "2"]
    done = run_compare(wheel, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    results = tmp_path / "results"
    names = {path.name for path in results.iterdir()}
    assert {f"partitioned@partitions={n}.json" for n in (2, 4, 8)} <= names
    assert "partitioned-partitions-scan.png" not in names, "its workers do not say when they wait"
    assert "partitioned by partitions · 2 rounds" in done.stdout
    # All values take turns: no value is measured to its end before the others.
    rounds = [line for line in done.stdout.splitlines() if " · round " in line]
    assert len(rounds) == 6
    assert [line.split("@partitions=")[1].split()[0] for line in rounds[:6]][:3] != ["2", "2", "2"]
    report = run_compare(results, command="report")
    assert "partitioned by partitions" in report.stdout
    page = tmp_path / "page.html"
    assert run_compare(results, "--html", page, command="report").returncode == 0
    assert "partitioned by partitions" in page.read_text("utf-8")


POKE = "[poke]\ncommand = 'touch {folder}/go'\ndone = { log = 'did it' }\n"
POKED = "#!/bin/sh\necho up\nuntil [ -e go ]; do sleep 0.02; done\necho did it\nsleep 9\n"


def test_copies_of_a_worker_are_scanned(run_compare: Compare, tmp_path: Path) -> None:
    poked = program(tmp_path, "poked", 1)
    poked.write_text(POKED)
    options = ("--scan", "processes=1,2,3", "--rounds", "1")
    done = run_compare(poked, "--worker", worker(tmp_path, POKE), *options)
    text = done.stdout + done.stderr
    assert (done.returncode, "not answered" in text) == (0, False), text
    scenarios = json.loads((tmp_path / "results/comparison.json").read_text())["scenarios"]
    assert scenarios[-1]["topology"] == "cluster, 3 processes"
    assert (tmp_path / "results/mine-processes-scan.png").exists()

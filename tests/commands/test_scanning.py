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
    rounds = [line for line in done.stdout.splitlines() if "round" in line and "/9]" in line]
    assert [line.split("@partitions=")[1].split()[0] for line in rounds[:6]][:3] != ["2", "2", "2"]
    report = run_compare(results, command="report")
    assert "partitioned by partitions" in report.stdout
    page = tmp_path / "page.html"
    assert run_compare(results, "--html", page, command="report").returncode == 0
    assert "partitioned by partitions" in page.read_text("utf-8")


POKE = "[poke]\ncommand = 'touch {folder}/go'\ndone = { log = 'did it' }\n"


def test_copies_of_a_worker_are_scanned(run_compare: Compare, tmp_path: Path) -> None:
    poked = program(tmp_path, "poked", 1)
    poked.write_text(
        "#!/bin/sh\necho up\nuntil [ -e go ]; do sleep 0.02; done\necho did it\nsleep 9\n"
    )
    options = ["--worker", worker(tmp_path, POKE), "--scan", "processes=1,2,3", "--rounds", "1"]
    done = run_compare(poked, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    scenarios = json.loads((tmp_path / "results/comparison.json").read_text())["scenarios"]
    assert scenarios[-1]["topology"] == "cluster, 3 processes"
    assert (tmp_path / "results/mine-processes-scan.png").exists()
    assert "not answered" not in " ".join(done.stdout.split())


def test_silences_are_windows_before_the_poke(run_compare: Compare, tmp_path: Path) -> None:
    poked = program(tmp_path, "poked", 1)
    poked.write_text(
        "#!/bin/sh\necho up\nuntil [ -e go ]; do sleep 0.02; done\necho did it\nsleep 9\n"
    )
    silence = ["--scan", "silence=0.2,0.4,0.6", "--rounds", "1"]
    done = run_compare(poked, "--worker", worker(tmp_path, POKE), *silence)
    assert done.returncode == 0, done.stdout + done.stderr
    scenarios = json.loads((tmp_path / "results/comparison.json").read_text())["scenarios"]
    windows = {one["scenario"]: one["parameters"]["window"] for one in scenarios}
    assert windows == {f"mine@silence={value}": value for value in (0.2, 0.4, 0.6)}
    assert "poked: after 0.2 s " in done.stdout
    assert (tmp_path / "results/mine-silence-scan.png").exists()
    unpoked = worker(tmp_path, name="unpoked")
    done = run_compare(poked, "--worker", unpoked, *silence)
    assert done.returncode == 2
    assert "takes a --worker with a [poke]" in done.stderr

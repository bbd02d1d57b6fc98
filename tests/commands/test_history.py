"""``history`` as it is typed, on the committed samples."""

import json
import shutil
from pathlib import Path

from tests.conftest import Compare
from waitbench.system.places import ROOT

SAMPLES = ROOT / "docs" / "samples"


def test_samples_that_share_a_release_are_joined(run_compare: Compare) -> None:
    done = run_compare(SAMPLES, "-s", "partitioned*", "--anchor", "v0.16.1", command="history")
    assert done.returncode == 0, done.stderr
    assert "relative to v0.16.1" in " ".join(done.stdout.split())
    assert "fell with v0.16.1" in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_another_metric_anchor_and_form(run_compare: Compare) -> None:
    done = run_compare(
        SAMPLES, "--metric", "wakeups", "--anchor", "v0.16.0", "--format", "json",
        command="history",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {trend["anchor"] for trend in found["trends"]} == {"v0.16.0"}


def test_what_cannot_be_read_is_named_each_time_the_rest_is_told_and_it_ends_with_3(
    run_compare: Compare, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    shutil.copytree(SAMPLES / "input", kept / "good")
    (kept / "bad").mkdir()
    (kept / "bad" / "comparison.json").write_text("{")
    cut_off, *_ = (path for path in (kept / "good").glob("partitioned*.json"))
    cut_off.write_bytes(cut_off.read_bytes()[:1000])
    for _ in range(2):
        done = run_compare(kept, command="history")
        assert done.returncode == 3, done.stderr
        assert "bad is left out" in done.stderr
        assert f"{cut_off.name}' is not a result file of waitbench (it is cut off" in done.stderr
        assert "move it away" in done.stderr
        assert "v0.16.0" in done.stdout

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
    assert any(line.endswith("×)?") for line in done.stdout.splitlines()), "a change point"
    assert max(map(len, done.stdout.splitlines())) <= 80
    other = ("--metric", "wakeups", "--anchor", "v0.16.0", "--format", "json")
    found = json.loads(run_compare(SAMPLES, *other, command="history").stdout)
    assert {row["anchor"] for row in found} == {"v0.16.0"}


def test_what_cannot_be_read_is_named_each_time_the_rest_is_told_and_it_ends_with_3(
    run_compare: Compare, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    shutil.copytree(SAMPLES / "input", kept / "good")
    (kept / "bad").mkdir()
    (kept / "bad" / "comparison.json").write_text("{")
    shutil.copytree(SAMPLES / "waiting", kept / "damaged")
    damaged = kept / "damaged" / "runs.jsonl"
    damaged.write_text(damaged.read_text().replace('"round": ', '"round": x', 1))
    for _ in range(2):
        done = run_compare(kept, command="history")
        assert done.returncode == 3, done.stderr
        assert "bad is left out" in done.stderr
        assert f"damaged is left out: Line 1 of '{damaged}' is not a run of waitb" in done.stderr
        assert "delete the line" in done.stderr
        assert "v0.16.0" in done.stdout

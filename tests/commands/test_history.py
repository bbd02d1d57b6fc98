"""``history`` and ``report --html`` as they are typed, on the committed samples."""

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


def test_a_page_of_one_comparison_is_written_and_named(
    run_compare: Compare, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    done = run_compare(SAMPLES / "waiting", "--html", page, command="report")
    assert (done.returncode, done.stdout.strip()) == (0, str(page)), done.stderr
    html = page.read_text()
    assert "v0.16.1 and v0.21.1 against v0.16.0" in html
    assert "<h2><bdi>partitioned-burst</bdi></h2>" in html


def test_what_cannot_be_read_is_named_and_the_rest_is_told(
    run_compare: Compare, tmp_path: Path
) -> None:
    kept, page = tmp_path / "kept", tmp_path / "page.html"
    for name in ("input", "waiting", "damaged"):
        shutil.copytree(SAMPLES / name.replace("damaged", "waiting"), kept / name)
    damaged = kept / "damaged" / "runs.jsonl"
    damaged.write_text(damaged.read_text().replace('"round": ', '"round": x', 1))
    (kept / "bad").mkdir()
    (kept / "bad" / "comparison.json").write_text("{")
    told = run_compare(kept, command="history")
    shown = run_compare(kept, "--html", page, command="report")
    assert (told.returncode, shown.returncode) == (3, 0), told.stderr + shown.stderr
    for done in (told, shown):
        assert "bad is left out" in done.stderr
        assert f"damaged is left out: Line 1 of '{damaged}' is not a run of waitb" in done.stderr
        assert "delete the line" in done.stderr
    assert "v0.16.0" in told.stdout
    html = page.read_text()
    assert "less steady CPU from v0.16.1 on" in html
    assert "2 comparisons" in html
    alone = run_compare(kept / "bad", "--html", page, command="report")
    assert (alone.returncode, "comparison.json" in alone.stderr) == (2, True)

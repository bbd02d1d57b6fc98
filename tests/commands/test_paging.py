"""``report --html`` as it is typed."""

import shutil
from pathlib import Path

from tests.conftest import Compare
from waitbench.system.places import ROOT

SAMPLES = ROOT / "docs" / "samples"


def test_a_page_of_one_comparison_is_written_and_named(
    run_compare: Compare, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    done = run_compare(SAMPLES / "waiting", "--html", page, command="report")
    assert (done.returncode, done.stdout.strip()) == (0, str(page)), done.stderr
    html = page.read_text()
    assert "v0.16.1 and v0.21.1 against v0.16.0" in html
    assert "<h2><bdi>partitioned-burst</bdi></h2>" in html


def test_a_page_of_many_has_their_history_without_what_cannot_be_read_which_is_named(
    run_compare: Compare, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    for name in ("waiting", "input"):
        shutil.copytree(SAMPLES / name, kept / name)
    (kept / "bad").mkdir()
    (kept / "bad" / "comparison.json").write_text("{")
    page = tmp_path / "page.html"
    done = run_compare(kept, "--html", page, command="report")
    assert done.returncode == 0, done.stderr
    assert "bad is left out" in done.stderr
    html = page.read_text()
    assert "less steady CPU from v0.16.1 on" in html
    assert "2 comparisons" in html
    alone = run_compare(kept / "bad", "--html", page, command="report")
    assert (alone.returncode, "comparison.json" in alone.stderr) == (2, True)

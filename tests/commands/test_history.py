"""``history`` and ``report --html`` as they are typed, on the committed samples."""

import shutil
from pathlib import Path

from tests.conftest import Compare
from waitbench.system.places import ROOT

SAMPLES = ROOT / "docs" / "samples"


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

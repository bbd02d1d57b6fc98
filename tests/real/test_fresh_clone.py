"""What a newcomer does first: a fresh clone, and only the README's commands."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import run
from waitbench.system.paths import ROOT

pytestmark = pytest.mark.integration


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_fresh_clone_measures_twice_and_its_work_tree_stays_clean(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(ROOT), str(clone))
    (clone / ".bench").mkdir()
    # Like the virtualenv of this very test: making one takes a minute, and test.sh itself tests
    # that. A copy, since setting up makes it the clone's own.
    venv = Path(sys.executable).parent.parent
    shutil.copytree(venv, clone / ".bench" / "venv", symlinks=True)

    def called(program: str, *arguments: str) -> str:
        done = run(clone / program, *arguments, cwd=tmp_path, env={"COLUMNS": "80"})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    quick = ("-s", "partitioned-long-input", "--rounds", "1", "--set", "items_per_partition=4")
    called("compare.sh", "v0.16.0", "v0.16.1", *quick)
    assert "costs.png" in called("plot.sh")
    called("compare.sh", "v0.16.0", "v0.16.1", *quick, "--no-plot")
    folders = sorted(path for path in (clone / "results").iterdir() if path.is_dir())
    latest = clone / "results" / "latest"
    kept = [path for path in folders if not path.is_symlink()]
    assert len(kept) == 2
    assert latest.resolve() == kept[1]
    for folder in kept:
        revisions = json.loads((folder / "comparison.json").read_text())["revisions"]
        assert [one["engine"] for one in revisions] == ["bytewax", "bytewax"]
        assert (folder / "partitioned-long-input.json").exists()
    assert "v0.16.0 → v0.16.1" in called("waitbench", "report")
    assert git(clone, "status", "--porcelain") == ""

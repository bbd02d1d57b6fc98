"""Folders with odd names, and what cannot be written to."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.faults import clones
from tests.faults.clones import QUICK, Clone, rounds_in

pytestmark = pytest.mark.integration
GATE = ("--fail-on", "cpu:1000%", "--rounds", "16")


def sentence(done: "subprocess.CompletedProcess[str]") -> str:
    """What is said of a fault; no traceback."""
    assert "Traceback" not in done.stdout + done.stderr
    assert "unexpected error" not in done.stderr
    return done.stderr


def test_a_verdict_that_cannot_be_written_somewhere_is_written_everywhere_else(
    shared_clone: Clone, tmp_path: Path
) -> None:
    wheel = shared_clone.wheel("ok")
    results = tmp_path / "results"
    done = shared_clone.run(
        f"A={wheel}", f"B={wheel}", *QUICK, *GATE, "--no-plot",
        "--results", results, env={"GITHUB_STEP_SUMMARY": "/dev/full"},
    )  # fmt: skip
    assert (done.returncode, "PASS" in done.stdout) == (3, True), done.stdout
    assert "/dev/full cannot be added to: No space left on device" in sentence(done)
    for suffix, said in (("md", "PASS"), ("xml", "allowed +1000 %"), ("json", "cpu:1000%")):
        assert said in (results / f"verdict.{suffix}").read_text()


HOSTILE = "a 'b' \"c\" $HOME `id` $(id) \\ é 雪 [x]* %s {y} -z\nnew line"
"""A folder's name: all that a shell, a format or a table may take for something of its own."""
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_hostile_folders_an_ascii_terminal_and_no_home_do_not_matter(tmp_path: Path) -> None:
    clone = clones.make(tmp_path / HOSTILE / "clone")
    # A revision's text must not hold a line break; where it leads to may.
    wheel = clone.wheel("odd").replace(f"{clone.root}/", "")
    results = tmp_path / f"results {HOSTILE}"
    odd = {**ASCII, "HOME": "/proc/no-such-home", "CDPATH": "/:/tmp"}
    done = clone.run(
        f"A={wheel}", f"B={wheel}", *QUICK, "--rounds", "1", "--results", results, env=odd
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert rounds_in(results) == {"A": [1], "B": [1]}
    assert (results / "overview.png").exists()
    # Through a link on PATH, from elsewhere.
    (tmp_path / "link").symlink_to(clone.root / "plot.sh")
    (tmp_path / "waitbench").mkdir()
    drawn = subprocess.run(
        ["bash", "-c", 'PATH=$PWD:$PATH; exec link "$1"', "bash", results],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **odd},
    )
    assert drawn.returncode == 0, drawn.stderr

"""Odd folders, odd terminals, odd things among the results."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import runner
from tests.faults import clones
from tests.faults.clones import QUICK, Clone, rounds_in

pytestmark = pytest.mark.integration

COMMON = (*QUICK, "--rounds", "1")
HOSTILE = "a 'b' \"c\" $HOME `id` $(id) \\ é 雪 [x]* %s {y} -z\nnew line"
"""A folder's name: all that a shell, a format or a table may take for something of its own."""
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_hostile_folders_an_ascii_terminal_and_no_home_do_not_matter(tmp_path: Path) -> None:
    clone = clones.make(tmp_path / HOSTILE / "clone")
    # A revision's text must not hold a line break; where it leads to may.
    wheel = clone.wheel("odd").replace(f"{clone.root}/", "")
    results = tmp_path / f"results {HOSTILE}"
    odd = {**ASCII, "HOME": "/proc/no-such-home", "CDPATH": "/:/tmp"}
    done = clone.run(f"A={wheel}", f"B={wheel}", *COMMON, "--results", results, env=odd)
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


@pytest.fixture(scope="module")
def measured(shared_clone: Clone, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results."""
    folder = tmp_path_factory.mktemp("measured") / "results"
    wheel = shared_clone.wheel("ok")
    done = shared_clone.run(f"A={wheel}", f"B={wheel}", *COMMON, "--results", folder, "--no-plot")
    assert done.returncode == 0, done.stderr
    return folder


ODDITIES: dict[str, tuple[str, bytes | None]] = {
    "a folder": ("runs.jsonl", None),
    "garbage": ("runs.jsonl", bytes(range(256)) * 4 + b"\n"),
    "another program's": ("comparison.json", b'{"benchmarks": [], "version": "1.0"}'),
    "nothing": ("comparison.json", b""),
    "endless nesting": ("comparison.json", b"[" * 100_000),
}
"""What stands in place of a file of results."""


@pytest.mark.parametrize("oddity", ODDITIES)
def test_what_is_no_result_is_a_sentence_that_names_it_and_stays_as_it_is(
    oddity: str, measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    results = tmp_path / "results"
    shutil.copytree(measured, results)
    name, content = ODDITIES[oddity]
    if content is None:
        (results / name).unlink()
        (results / name).mkdir()
    else:
        (results / name).write_bytes(content)
    before = {path: path.is_file() and path.read_bytes() for path in results.iterdir()}
    # In this process: what nobody foresaw is an error of the test.
    monkeypatch.setattr("sys.argv", ["runner.py", "report", str(results)])
    code = runner.main()
    out, said = capsys.readouterr()
    assert (code, name in said, "nobody foresaw" in said) == (2, True, False), said
    assert "Traceback" not in out + said
    assert {path: path.is_file() and path.read_bytes() for path in results.iterdir()} == before

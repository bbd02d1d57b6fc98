"""Workers that are commands, side by side: ``./waitbench workers``."""

import json
import re
from pathlib import Path

import pytest

from tests.commands.idle_workers import program, worker
from tests.conftest import Compare, Said
from waitbench.system.paths import ROOT


def write(folder: Path, name: str, pause_s: float, more: str = "") -> Path:
    """A worker file with the one program that it measures."""
    path = program(folder, f"{name}.sh", pause_s)
    return worker(folder, f"versions = ['{path}']\n{more}", name)


def test_the_readme_has_the_figures_of_workers_that_the_document_has() -> None:
    readme = (ROOT / "README.md").read_text("utf-8").lower()
    (sentence,) = (line for line in readme.splitlines() if "(workers/costs.md)" in line)
    shares = re.findall(r"(\S+) (?:uses )?([\d.]+) %", sentence)
    assert [name for name, _ in shares] == ["dask-worker", "celery"]
    table = (ROOT / "workers" / "costs.md").read_text("utf-8")
    for name, percent in shares:
        newest, *_ = re.findall(rf"^{name} [\d.]+ .*$", table, re.M)
        assert percent in newest.split()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lonely"], "no worker file (*.toml) in"),
        (["nowhere.toml"], "cannot be read"),
        (["ends.toml"], "ends by itself, so it does not wait"),
        (["silent.toml"], "does not say which versions to measure"),
        (["a.toml", "lonely/../a.toml"], "Two worker files are called 'a'"),
        (["a.toml", "--rounds", "0"], "'--rounds': 0 is not in the range"),
        (["a.toml", "--results", "full"], "'full'"),
    ],
)
def test_what_cannot_be_understood_is_refused_before_anything_is_measured(
    arguments: list[str], says: str, said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lonely").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "of.txt").touch()
    (tmp_path / "ends.toml").write_text("command = '{revision}'\nwindow = 'until-exit'\n")
    (tmp_path / "silent.toml").write_text("command = '{revision}'\n")
    write(tmp_path, "a", 1)
    monkeypatch.chdir(tmp_path)
    code, out, err = said("workers", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert says in err


@pytest.mark.integration
@pytest.mark.smoke
def test_what_fails_is_said_in_its_row_and_the_others_are_measured(
    run_compare: Compare, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    write(folder, "calm", 0.5)
    write(folder, "eager", 0.02)
    write(folder, "gone", 0.5).write_text(
        "versions = ['no-such-program', 'true']\ncommand = '{revision}'\n"
        "install = 'apt-get install it'\n"
    )
    write(folder, "short", 0.5).write_text("versions = ['true']\ncommand = '{revision}'\n")
    done = run_compare(
        folder, "--rounds", "1", "--results", tmp_path / "results", command="workers"
    )
    assert done.returncode == 3, done.stdout + done.stderr
    title, _, eager, calm, *others = done.stdout.splitlines()
    assert title == "3 idle workers, 1 s, one run each: rough figures"
    assert (eager.split()[:2], calm.split()[:2]) == (["eager", "eager.sh"], ["calm", "calm.sh"])
    notes = " ".join(" ".join(others).split())
    assert re.search("short: true, 2 runs of short failed: .* ended with exit code 0", notes)
    assert "gone: 'no-such-program' is not a program here" in notes
    assert "This would install it: apt-get install it" in notes
    assert "| calm calm.sh |" in (tmp_path / "results" / "workers.md").read_text()
    assert (tmp_path / "results" / "workers.png").exists()
    assert "calm" in done.stderr
    assert "start/idle" not in done.stdout + done.stderr, "no table of each worker"
    found = json.loads((tmp_path / "results" / "calm" / "calm.json").read_text())
    assert len(found["results"][0]["measurements"]) == 1
    again = run_compare(tmp_path / "results", command="report").stdout.splitlines()
    assert "short: true, 2 runs of short failed" in " ".join(again)
    assert [line.split()[:3] for line in again[2:4]] == [eager.split()[:3], calm.split()[:3]]

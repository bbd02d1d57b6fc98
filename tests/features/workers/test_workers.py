"""Workers that are commands, side by side: ``./waitbench workers``."""

import json
import re
from pathlib import Path

import pytest

from tests.commands.idle_workers import program, worker
from tests.conftest import Compare, Said
from waitbench.engines.worker import file as worker_file
from waitbench.model.conditions import Answer, Readiness
from waitbench.model.placeholders import PLACEHOLDERS
from waitbench.model.worker import MetricFile, Poke, ServiceFile, WorkerTable
from waitbench.system.paths import ROOT, WORKERS

EXAMPLES = sorted(WORKERS.glob("*/*.toml"))


def write(folder: Path, name: str, pause_s: float, more: str = "") -> Path:
    """A worker file with the one program that it measures."""
    path = program(folder, f"{name}.sh", pause_s)
    return worker(folder, f"versions = ['{path}']\n{more}", name)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_whole_and_explains_itself(path: Path) -> None:
    found = worker_file.read(path)
    assert found.revisions
    assert found.poke is not None or found.ends_by_itself
    assert path.read_text("utf-8").startswith("# ")
    assert all(one.install or "{python}" in one.command for one in found.services.values())
    assert found.package or found.variants or found.install


def test_the_example_of_the_document_is_read_and_its_reference_has_every_key(
    tmp_path: Path,
) -> None:
    how_to, reference = (
        (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("workers", "worker-files")
    )
    example = re.findall(r"```toml\n(.*?)```", how_to, re.DOTALL)[0]
    path = tmp_path / "mine.toml"
    path.write_text(example)
    assert worker_file.read(path).package == "rq"
    named = {one: f"{one}.NAME" for one in ("services", "metrics", "scenarios")}
    for table in (WorkerTable, ServiceFile, Poke, MetricFile):
        names = [named.get(key, key) for key in table.__struct_encode_fields__]
        assert [name for name in names if f"| `{name}` |" not in reference] == []
    for condition in (*Readiness.__subclasses__(), *Answer.__subclasses__()):
        assert f"| `{condition.key} = " in reference
    for placeholder in PLACEHOLDERS:
        assert f"`{{{placeholder}}}`" in reference


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
    assert title == "5 idle workers, 1 s, one run each: orders of magnitude"
    assert (eager.split()[:2], calm.split()[:2]) == (["eager", "eager.sh"], ["calm", "calm.sh"])
    assert "●" in eager
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

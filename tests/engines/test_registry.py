"""Engines: bytewax, which needs no prefix, and those that are registered."""

from pathlib import Path

import pytest

import runner
from waitbench import engines
from waitbench.engines.worker import Command
from waitbench.engines.worker import file as worker_file
from waitbench.environments.revisions import engine_of, resolve
from waitbench.model.errors import UsageError


def test_bytewax_needs_no_prefix_and_other_engines_do() -> None:
    assert engines.split("v0.21.1") == (engines.DEFAULT, "v0.21.1")
    assert engines.split("standin@x") == (engines.named("standin"), "x")
    with pytest.raises(UsageError, match="there is no engine 'pathway'"):
        engines.split("pathway@0.33.0")


@pytest.mark.parametrize("text", ["v0.21.1+a==1", "v0.21.1+a=1", "a==1"])
def test_what_names_no_release_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        resolve([text], None)


def test_revisions_of_several_engines_are_not_compared() -> None:
    assert engine_of(["L=standin@r0.0.1", "standin@main"]) is engines.named("standin")
    assert engine_of([]) is engines.DEFAULT
    with pytest.raises(UsageError, match="revisions of bytewax and standin: name revisions of one"):
        engine_of(["v0.21.1", "L=standin@r0.0.1"])


@pytest.mark.parametrize(
    ("command", "arguments", "says"),
    [
        ("compare", "standin@r0.0.1 -p 2", "--topology 'cluster' is not one of: single."),
    ],
)
def test_what_makes_no_sense_of_an_engine_is_refused(
    command: str, arguments: str, says: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("sys.argv", ["runner.py", command, *arguments.split()])
    code = runner.main()
    said = " ".join(capsys.readouterr().err.split())
    assert (code, says in said) == (2, True), said


def test_a_worker_file_does_not_take_the_name_of_an_engine(tmp_path: Path) -> None:
    path = tmp_path / "bytewax.toml"
    path.write_text("command = '{revision}'\n")
    with pytest.raises(UsageError, match="bytewax is an engine's name"):
        engines.assume(Command(worker_file.read(path)))
    assert engines.assumed() is engines.DEFAULT


def test_what_runs_a_worker_file_is_its_engine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_known", {**engines._known})
    monkeypatch.setattr(engines, "_assumed", [engines.DEFAULT.name])
    path = tmp_path / "mine.toml"
    path.write_text("command = 'mine {port}'\npackage = 'mine'\n")
    engines.assume(mine := Command(worker_file.read(path)))
    assert engine_of(["1.0", "mine@2.0"]) is mine
    with pytest.raises(UsageError, match=r"there is no engine 'bytewax'\. There are: mine\."):
        engine_of(["1.0", "bytewax@v0.21.1"])

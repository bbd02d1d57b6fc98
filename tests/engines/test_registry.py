"""Engines: each is a folder, found by itself, and named nowhere else."""

import re
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

import runner
from waitbench import engines
from waitbench.engines import worker_file
from waitbench.engines.base import Engine
from waitbench.engines.command import Command
from waitbench.environments.revisions import engines_of, resolve
from waitbench.model.errors import UsageError
from waitbench.model.revision import Release
from waitbench.model.scenario import CAPABILITIES
from waitbench.system.places import DATAFLOWS, PACKAGE

OTHERS = [
    engine
    for engine in engines.all_known()
    if engine is not engines.DEFAULT and engine.name != "standin"
]


@pytest.mark.parametrize("engine", OTHERS, ids=lambda engine: engine.name)
def test_no_module_outside_an_engines_folder_names_it(engine: Engine) -> None:
    # As a revision, or as a module: some names are words that mean something else, too.
    own = PACKAGE / "engines" / engine.name
    assert own.is_dir()
    named = re.compile(rf"\b{engine.name}@|engines\.{engine.name}\b|\b{engine.module}\b")
    for path in (*PACKAGE.rglob("*.py"), *DATAFLOWS.rglob("*.py")):
        if own not in path.parents and path.parent.name != "commands":
            assert not named.search(path.read_text("utf-8")), path


@pytest.mark.parametrize("engine", OTHERS, ids=lambda engine: engine.name)
def test_an_engine_says_what_anyone_may_ask_of_it(engine: Engine) -> None:
    for folder in (engine.carrier, engine.own_sources):
        assert folder is None or folder.is_dir()
    assert engine.carrier is None or (engine.carrier / "carrier.py").is_file()
    assert engine.runs_python is (engine.carrier is not None)
    assert engine.package == canonicalize_name(engine.package)
    assert engine.remark()
    assert engine.traits(Path("nowhere")).capabilities <= set(CAPABILITIES)
    assert engines.split(f"{engine.name}@x") == (engine, "x")


def test_packages_beside_a_revision_belong_to_it() -> None:
    first, second, third = resolve(
        ["v0.21.1+confluent-kafka==2.9.0", "A=v0.21.1+a==1.0+b_c==2.0.post1", "python@floor"], {}
    )
    assert (first.label, first.source, first.beside) == (
        "v0.21.1+confluent-kafka==2.9.0", Release("0.21.1"), ("confluent-kafka==2.9.0",)
    )  # fmt: skip
    assert (second.label, second.beside) == ("A", ("a==1.0", "b_c==2.0.post1"))
    assert (third.engine, third.source, third.beside) == ("python", Release("floor"), ())


@pytest.mark.parametrize(
    "text", ["python@main", "python@1.0", "v0.21.1+a==", "v0.21.1+==1", "v0.21.1+a=1", "a==1"]
)
def test_what_names_no_release_of_an_engine_without_a_repository_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        resolve([text], {})


def test_several_engines_may_be_compared() -> None:
    assert [one.name for one in engines_of(["v0.21.1", "L=python@floor", "v0.16.0"])] == [
        "bytewax", "python"
    ]  # fmt: skip
    assert engines_of([]) == (engines.DEFAULT,)


@pytest.mark.parametrize(
    ("command", "arguments", "says"),
    [
        ("compare", "v0.21.1 python@floor -p 2", "--topology 'cluster' is not one of: single."),
        ("compare", "v0.21.1 python@floor -w 2", "python has 1 at most"),
        ("compare", "python@floor --repo .", "name revisions of one engine that has a repository"),
        ("compare", "v0.21.1+awake:5", "has no setting 'awake'. It has: awake_ms:0"),
        ("bisect", "v0.21.1 python@floor", "name revisions of one engine"),
        ("bisect", "v0.20.1 v0.21.1+awake_ms:5", "differ by their code only"),
        ("track", "--anchor v0.21.1+awake_ms:5", "are measured as they are"),
    ],
)
def test_what_makes_no_sense_of_an_engine_or_of_several_is_refused(
    command: str, arguments: str, says: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("sys.argv", ["runner.py", command, *arguments.split()])
    code = runner.main()
    said = " ".join(capsys.readouterr().err.split())
    assert (code, says in said) == (2, True), said


def test_the_engines_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["runner.py", "engines"])
    assert (runner.main(), "python@floor" in capsys.readouterr().out) == (0, True)


def test_a_worker_file_does_not_take_the_name_of_an_engine(tmp_path: Path) -> None:
    path = tmp_path / "python.toml"
    path.write_text("command = '{revision}'\n")
    with pytest.raises(UsageError, match="python is an engine's name"):
        engines.assume(Command(worker_file.read(path)))
    assert engines.assumed() is engines.DEFAULT

"""Builds by cargo: what they lack, and that they really compile."""

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.engines.worker.reading import read
from tests.histories import Upstream, at
from waitbench.engines import cargo
from waitbench.engines.cargo import supports_python
from waitbench.engines.worker import WorkerFileEngine
from waitbench.environments import virtualenvs
from waitbench.environments.virtualenvs import EnvironmentBuilder
from waitbench.model.errors import HarnessError
from waitbench.model.revision import Interpreter, SourceTree, Toolchain
from waitbench.system.paths import Cache

RUST = Toolchain("rustc 1.86.0 (05f9846f8 2025-03-31)", "", "stable")


def write_crate(folder: Path, name: str) -> Path:
    source = folder / "source"
    source.mkdir()
    (source / "Cargo.toml").write_text(f'[package]\nname = "{name}"\nversion = "1.0.0"\n')
    return source


def test_fingerprints_of_the_crate_are_removed_and_those_of_its_dependencies_stay(
    tmp_path: Path,
) -> None:
    source = write_crate(tmp_path, "stream")
    directory, gone = (
        tmp_path / "target" / "release" / ".fingerprint" / name for name in ("tokio-1", "stream-1")
    )
    cross = tmp_path / "target" / "x86_64" / "release" / ".fingerprint" / "stream-2"
    for folder in (directory, gone, cross):
        folder.mkdir(parents=True)
    cargo.remove_fingerprints(source, tmp_path)
    assert (directory.exists(), gone.exists(), cross.exists()) == (True, False, False)


def test_a_build_that_compiled_nothing_of_the_crate_is_refused(tmp_path: Path) -> None:
    source, log = write_crate(tmp_path, "stream"), tmp_path / "log"
    log.write_text("   Compiling tokio v1.0.0\n    Finished release\n")
    with pytest.raises(HarnessError, match="cargo did not recompile stream"):
        cargo.require_compiled(source, log)
    log.write_text("   Compiling tokio v1.0.0\n   Compiling stream v1.0.0 (/source)\n")
    cargo.require_compiled(source, log)
    # Sources without a crate have nothing to recompile.
    (tmp_path / "none").mkdir()
    log.write_text("")
    cargo.remove_fingerprints(tmp_path / "none", tmp_path)
    cargo.require_compiled(tmp_path / "none", log)


def test_the_toolchain_is_forced_whatever_the_sources_name(tmp_path: Path) -> None:
    assert cargo.variables(tmp_path, RUST)["RUSTUP_TOOLCHAIN"] == "stable"
    assert "RUSTUP_TOOLCHAIN" not in cargo.variables(tmp_path, Toolchain("rustc 1.0.0", ""))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, ...], str]:
    """What programs of Rust answer; those that are not there do not."""
    answers = {
        ("rustup", "default"): "stable-x86_64 (default)\n",
        ("rustc", "+stable-x86_64", "--version"): f"{RUST.compiler}\n",
        ("rustc", "+1.74.1", "--version"): "rustc 1.74.1 (a28077b28 2023-12-04)\n",
        ("rustc", "--version"): "rustc 1.60.0 (7737e0b5c 2022-04-04)\n",
    }
    monkeypatch.delenv(cargo.VARIABLE, raising=False)
    monkeypatch.setattr(cargo, "_run", lambda *command: answers.get(command))
    return answers


@pytest.mark.usefixtures("machine")
def test_all_are_built_by_the_default_one_or_by_that_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (cargo.choose_toolchain().name, cargo.choose_toolchain().compiler) == (
        "stable-x86_64",
        RUST.compiler,
    )
    monkeypatch.setenv(cargo.VARIABLE, "1.74.1")
    assert cargo.choose_toolchain().name == "1.74.1"
    assert cargo.choose_toolchain().compiler.startswith("rustc 1.74.1")
    monkeypatch.setenv(cargo.VARIABLE, "1.2.3")
    with pytest.raises(HarnessError, match=r"rustup toolchain install 1\.2\.3"):
        cargo.choose_toolchain()


def test_without_rustup_it_is_what_there_is(machine: dict[tuple[str, ...], str]) -> None:
    machine["rustup", "default"] = "no default toolchain is configured\n"
    machine["rustup", "toolchain", "list"] = "1.74.1\n1.60.0\n"
    assert cargo.choose_toolchain().name == "1.74.1", "one for all, if none is the default"
    del machine["rustup", "default"], machine["rustup", "toolchain", "list"]
    assert (cargo.choose_toolchain().name, cargo.choose_toolchain().compiler[:12]) == (
        None,
        "rustc 1.60.0",
    )
    machine.clear()
    assert cargo.choose_toolchain().compiler == cargo.NONE


def test_sources_with_rust_are_built_by_one_toolchain_in_any_package(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream, variables = Upstream(tmp_path / "upstream"), list[dict[str, str]]()

    def run(_command: object, _log: object, more_variables: object = None, **_: object) -> None:
        if isinstance(more_variables, dict):
            variables.append(more_variables)

    monkeypatch.setattr(cargo, "choose_toolchain", lambda: RUST)
    monkeypatch.setattr(virtualenvs, "run_logged", run)
    worker = WorkerFileEngine(read(tmp_path, "package = 'x'\ncommand = 'x'\n"))
    builder = EnvironmentBuilder(engine=worker, cache=cache)
    for path, toolchain in (("setup.py", None), ("Cargo.toml", RUST.name)):
        commit = upstream.commit(path, path, "")
        spec = replace(
            at(commit),
            python=Interpreter(sys.executable, "3.11.7"),
            source_tree=SourceTree(upstream.folder, commit),
        )
        with pytest.raises(HarnessError, match="without a wheel"):
            builder.build_wheels([spec])
        assert variables[-1].get(cargo.VARIABLE) == toolchain


def supported(files: dict[str, str]) -> list[str]:
    minors = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]
    return [m for m in minors if supports_python(Interpreter("/python", f"{m}.1"), files.get)]


@pytest.mark.parametrize(
    ("version", "newest"),
    [("0.17.2", "3.11"), ("0.21.1", "3.12"), ("0.25.1", "3.14"), ("9.9.9", "3.14")],
)
def test_the_locked_pyo3_limits_the_newest_python(version: str, newest: str) -> None:
    packages = {"other": "1.0", "pyo3": version}
    lock = "".join(
        f'[[package]]\nname = "{name}"\nversion = "{number}"\n' for name, number in packages.items()
    )
    assert supported({"Cargo.lock": lock})[-1] == newest


def test_requires_python_limits_both_ends() -> None:
    project = '[project]\nname = "x"\nrequires-python = ">=3.10,<3.12"\n'
    assert supported({"pyproject.toml": project}) == ["3.10", "3.11"]


@pytest.mark.parametrize(
    "text", ["", "not = [toml", "a = " + "[" * 20_000, '[project]\nrequires-python = "soon"\n']
)
def test_what_cannot_be_read_is_left_to_the_build(text: str) -> None:
    assert len(supported({"pyproject.toml": text, "Cargo.lock": "not = [toml"})) == 6

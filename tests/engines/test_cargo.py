"""Builds by cargo: what they lack, and that they really compile."""

from pathlib import Path

import pytest

from waitbench.engines import cargo
from waitbench.engines.cargo import ReadSource, supports_python
from waitbench.model.environment import Interpreter, Toolchain
from waitbench.model.errors import HarnessError

RUST = Toolchain("rustc 1.86.0 (05f9846f8 2025-03-31)", "", "stable")

THREE = {
    "1.74.1-x86_64": "rustc 1.74.1 (a28077b28 2023-12-04)",
    "stable-x86_64": "rustc 1.86.0 (05f9846f8 2025-03-31)",
    "1.80.0-x86_64": "rustc 1.80.0 (051478957 2024-07-21)",
}


def write_crate(folder: Path, name: str) -> Path:
    source = folder / "source"
    source.mkdir()
    (source / "Cargo.toml").write_text(f'[package]\nname = "{name}"\nversion = "1.0.0"\n')
    return source


def test_fingerprints_of_the_crate_are_removed_and_those_of_its_dependencies_stay(
    tmp_path: Path,
) -> None:
    source = write_crate(tmp_path, "stream")
    kept, gone = (
        tmp_path / "target" / "release" / ".fingerprint" / name for name in ("tokio-1", "stream-1")
    )
    cross = tmp_path / "target" / "x86_64" / "release" / ".fingerprint" / "stream-2"
    for folder in (kept, gone, cross):
        folder.mkdir(parents=True)
    cargo.before(source, tmp_path)
    assert (kept.exists(), gone.exists(), cross.exists()) == (True, False, False)


def test_a_build_that_compiled_nothing_of_the_crate_is_refused(tmp_path: Path) -> None:
    source, log = write_crate(tmp_path, "stream"), tmp_path / "log"
    log.write_text("   Compiling tokio v1.0.0\n    Finished release\n")
    with pytest.raises(HarnessError, match="cargo did not recompile stream"):
        cargo.require_compiled(source, log)
    log.write_text("   Compiling tokio v1.0.0\n   Compiling stream v1.0.0 (/source)\n")
    cargo.require_compiled(source, log)


def test_sources_without_a_crate_have_nothing_to_recompile(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "log").write_text("")
    cargo.before(tmp_path / "source", tmp_path)
    cargo.require_compiled(tmp_path / "source", tmp_path / "log")


def test_the_toolchain_is_forced_whatever_the_sources_name(tmp_path: Path) -> None:
    assert cargo.variables(tmp_path, RUST)["RUSTUP_TOOLCHAIN"] == "stable"
    assert "RUSTUP_TOOLCHAIN" not in cargo.variables(tmp_path, Toolchain("rustc 1.0.0", ""))


def tree(**files: str) -> ReadSource:
    """A source tree with these files; ``_`` stands for a dot or a dash."""
    names = {"toolchain": "rust-toolchain.toml", "plain": "rust-toolchain", "cargo": "Cargo.toml"}
    by_path = {names[name]: text for name, text in files.items()}
    return by_path.get


def asks_for(version: str) -> ReadSource:
    return tree(toolchain=f'[toolchain]\nchannel = "{version}"\n')


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cargo.VARIABLE, raising=False)
    monkeypatch.setattr(cargo, "installed", lambda: THREE)
    by_name = {name.partition("-")[0]: compiler for name, compiler in THREE.items()}
    monkeypatch.setattr(cargo, "_ask", lambda name: by_name.get(name or "stable"))


@pytest.mark.parametrize(
    ("source", "version"),
    [
        (asks_for("1.74.1"), "1.74.1"),
        (tree(plain="1.70\n"), "1.70"),
        (tree(cargo='[package]\nname = "x"\nrust-version = "1.60"\n'), "1.60"),
        (
            tree(toolchain='[toolchain]\nchannel = "1.74.1"\n',
                 cargo='[package]\nrust-version = "1.80"\n'), "1.80",
        ),
        (asks_for("stable"), None),
        (tree(toolchain="not = [ toml"), None),
        (tree(), None),
    ],
)  # fmt: skip
def test_what_a_source_tree_asks_for_is_the_newest_that_its_files_name(
    source: ReadSource, version: str | None
) -> None:
    found = cargo.required(source)
    assert (found and str(found)) == version


def test_all_are_built_by_the_newest_there_is_whatever_each_names() -> None:
    chosen = cargo.choose([asks_for("1.74.1"), asks_for("1.86.0")])
    assert chosen.name == "stable-x86_64"
    assert chosen.compiler.startswith("rustc 1.86.0")


def test_a_missing_one_is_said_with_what_installs_it() -> None:
    with pytest.raises(HarnessError, match=r"rustup toolchain install 1\.90\.0"):
        cargo.choose([asks_for("1.74.1"), asks_for("1.90.0")])


def test_the_user_may_name_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cargo.VARIABLE, "1.74.1")
    chosen = cargo.choose([asks_for("1.86.0")])
    assert chosen.name == "1.74.1"
    assert chosen.compiler.startswith("rustc 1.74.1")
    monkeypatch.setenv(cargo.VARIABLE, "1.2.3")
    with pytest.raises(HarnessError, match=r"rustup toolchain install 1\.2\.3"):
        cargo.choose([])


def test_without_rustup_it_is_what_there_is_if_that_is_new_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cargo, "installed", lambda: {})
    assert cargo.choose([asks_for("1.74.1")]).name is None
    with pytest.raises(HarnessError, match=r"rustup\.rs"):
        cargo.choose([asks_for("1.90.0")])
    monkeypatch.setattr(cargo, "_ask", lambda _name: None)
    assert cargo.choose([]).compiler == cargo.NONE


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


@pytest.mark.parametrize("text", ["", "not = [toml", '[project]\nrequires-python = "soon"\n'])
def test_what_cannot_be_read_is_left_to_the_build(text: str) -> None:
    assert len(supported({"pyproject.toml": text, "Cargo.lock": "not = [toml"})) == 6

"""One Rust toolchain for all source trees."""

import pytest

from waitbench.engines import cargo
from waitbench.engines.base import ReadSource
from waitbench.model.errors import HarnessError

THREE = {
    "1.74.1-x86_64": "rustc 1.74.1 (a28077b28 2023-12-04)",
    "stable-x86_64": "rustc 1.86.0 (05f9846f8 2025-03-31)",
    "1.80.0-x86_64": "rustc 1.80.0 (051478957 2024-07-21)",
}


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
    chosen = cargo.choose([asks_for("1.74.1"), asks_for("1.86.0")], None)
    assert chosen.name == "stable-x86_64"
    assert chosen.compiler.startswith("rustc 1.86.0")


def test_a_missing_one_is_said_with_what_installs_it() -> None:
    with pytest.raises(HarnessError, match=r"rustup toolchain install 1\.90\.0"):
        cargo.choose([asks_for("1.74.1"), asks_for("1.90.0")], None)


def test_the_user_may_name_another(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cargo.choose([asks_for("1.86.0")], "1.74.1").compiler.startswith("rustc 1.74.1")
    monkeypatch.setenv(cargo.VARIABLE, "1.80.0")
    assert cargo.choose([], None).name == "1.80.0"
    with pytest.raises(HarnessError, match=r"rustup toolchain install 1\.2\.3"):
        cargo.choose([], "1.2.3")


def test_without_rustup_it_is_what_there_is_if_that_is_new_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cargo, "installed", lambda: {})
    assert cargo.choose([asks_for("1.74.1")], None).name is None
    with pytest.raises(HarnessError, match=r"rustup\.rs"):
        cargo.choose([asks_for("1.90.0")], None)
    monkeypatch.setattr(cargo, "_ask", lambda _name: None)
    assert cargo.choose([], None).compiler == cargo.NONE

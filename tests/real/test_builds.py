"""Real compilers: two commits never share a binary, and what is interrupted is made anew."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import standin
from tests.running import run
from waitbench.engines import cargo
from waitbench.environments.origins import Chooser
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import resolve
from waitbench.environments.virtualenvs import Maker
from waitbench.model.environment import Environment
from waitbench.model.errors import HarnessError
from waitbench.system.places import Cache

pytestmark = pytest.mark.integration

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="source builds need cargo")
needs_rustup = pytest.mark.skipif(shutil.which("rustup") is None, reason="rustup has toolchains")

SAYS_ITS_COMPILER = """
fn main() {
    let rustc = std::env::var("RUSTC").unwrap();
    let said = std::process::Command::new(rustc).arg("--version").output().unwrap().stdout;
    println!("cargo:rustc-env=COMPILER={}", String::from_utf8(said).unwrap().trim());
}
"""
"""A build script that has the program know what compiles it."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """One for all tests: what builds share is made once, and must mislead none."""
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def repository(repository_folder: tuple[Path, dict[str, str]], cache: Cache) -> Repository:
    return Repository(str(repository_folder[0]), cache)


def make(*texts: str, repository: Repository) -> Mapping[str, Environment | HarnessError]:
    engine = standin.StandIn()
    chooser = Chooser(engine, repository, repository.cache)
    specs = chooser.choose(resolve(texts, engine, repository), "auto", None)
    return Maker(engine=engine, cache=repository.cache).make_all(specs)


def program(environment: Environment | HarnessError) -> Path:
    assert isinstance(environment, Environment), environment
    return environment.folder / "bin" / "stand-in"


@needs_cargo
def test_two_commits_never_share_a_binary_though_their_files_are_equally_old(
    repository: Repository,
) -> None:
    # One cache, so one cargo target folder: cargo alone would take the second build for done.
    made = make("one=r0.0.1", "two=main", repository=repository)
    one, two = program(made["one"]), program(made["two"])
    assert [run(path).stdout for path in (one, two)] == ["one\n", "two\n"]
    assert one.read_bytes() != two.read_bytes()
    kept = [made[label] for label in ("one", "two")]
    recorded = [env.facts.extensions for env in kept if isinstance(env, Environment)]
    assert recorded[0] != recorded[1], "their digests are in the results"
    again = make("again=r0.0.1", repository=repository)
    assert again["again"] == made["one"], "reused when complete"


def write_sources_that_name(folder: Path, channel: str) -> None:
    """Sources that ask for a compiler, and whose program says by which it was compiled."""
    standin.write_sources(folder, f"as {channel} asks")
    (folder / "rust-toolchain.toml").write_text(f'[toolchain]\nchannel = "{channel}"\n')
    (folder / "build.rs").write_text(SAYS_ITS_COMPILER)
    (folder / "src" / "main.rs").write_text(
        f'fn main() {{ println!("{{}}", env!("COMPILER")); }} // {channel}\n'
    )


@pytest.fixture(scope="module")
def naming_two(tmp_path_factory: pytest.TempPathFactory, cache: Cache) -> Repository:
    """Two commits that name two compilers, of which none is the default one."""
    folder = tmp_path_factory.mktemp("naming")
    standin.git(folder, "init", "--quiet", "--initial-branch", "main")
    for tag, channel in (("old", "1.60.0"), ("new", "1.61.0")):
        write_sources_that_name(folder, channel)
        standin.git(folder, "add", "--all")
        standin.git(folder, "commit", "--quiet", "--message", channel)
        standin.git(folder, "tag", tag)
    return Repository(str(folder), cache)


def compilers(made: Mapping[str, Environment | HarnessError]) -> set[tuple[str | None, str]]:
    """What each environment's file says of its compiler, and what its program says."""
    said = set()
    for environment in made.values():
        printed = run(program(environment)).stdout
        assert isinstance(environment, Environment)
        kept = json.loads((environment.folder / "environment.json").read_text())
        said.add((kept["compiler"], printed.strip()))
    return said


@needs_rustup
def test_revisions_that_name_two_compilers_are_built_by_the_default_or_the_one_asked_for(
    naming_two: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(cargo.VARIABLE, raising=False)
    default = cargo.choose().compiler
    made = make("old", "new", repository=naming_two)
    assert compilers(made) == {(default, default)}
    for name in run("rustup", "toolchain", "list").stdout.splitlines():
        compiler = run("rustc", f"+{name.split()[0]}", "--version").stdout.strip()
        if compiler != default:
            monkeypatch.setenv(cargo.VARIABLE, name.split()[0])
            made = make("old", "new", repository=naming_two)
            assert compilers(made) == {(compiler, compiler)}
            return
    pytest.skip("there is one compiler, so no other to ask for")


@needs_cargo
def test_a_build_that_fails_shows_its_log_and_the_other_revision_is_built(
    repository: Repository, tmp_path: Path
) -> None:
    standin.write_repository(tmp_path / "broken")
    (tmp_path / "broken" / "src" / "main.rs").write_text("fn main() { this is no Rust }")
    made = make("main=main", str(tmp_path / "broken"), repository=repository)
    assert isinstance(made["main"], Environment)
    assert isinstance(made["broken"], HarnessError)
    assert "error" in str(made["broken"])
    assert str(made["broken"]).endswith("Building it takes Rust.")
    assert str(repository.cache.root / "logs") in str(made["broken"])

"""Real compilers: two commits never share a binary, and what is interrupted is made anew."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import standin
from waitbench import engines
from waitbench.environments.origins import Chooser
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import resolve
from waitbench.environments.virtualenvs import Maker
from waitbench.execution.hyperfine import locate
from waitbench.model.environment import Environment, OriginChoice
from waitbench.model.errors import HarnessError
from waitbench.system.places import Cache

pytestmark = pytest.mark.integration

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="source builds need cargo")


def make(*texts: str, repository: Repository) -> Mapping[str, Environment | HarnessError]:
    engine = engines.named("standin")
    chooser = Chooser(engine, repository, repository.cache)
    specs = chooser.choose(resolve(texts, repository), OriginChoice.AUTO, None)
    return Maker(engine=engine, repository=repository, cache=repository.cache).make_all(specs)


def program(environment: Environment | HarnessError) -> Path:
    assert isinstance(environment, Environment), environment
    return environment.folder / "bin" / "stand-in"


@needs_cargo
def test_two_commits_never_share_a_binary_though_their_files_are_equally_old(
    repository: Repository,
) -> None:
    # One cache, so one cargo target folder: cargo alone would take the second build for done.
    made = make("one=standin@r0.0.1", "two=standin@main", repository=repository)
    one, two = program(made["one"]), program(made["two"])
    said = [
        subprocess.run([path], capture_output=True, text=True, check=True).stdout
        for path in (one, two)
    ]
    assert said == ["one\n", "two\n"]
    assert one.read_bytes() != two.read_bytes()
    again = make("again=standin@r0.0.1", repository=repository)
    assert again["again"] == made["one"], "reused when complete"


@needs_cargo
def test_an_interrupted_environment_is_rebuilt(repository: Repository) -> None:
    first = make("standin@main", repository=repository)["standin@main"]
    assert isinstance(first, Environment)
    (first.folder / "environment.json").unlink()
    shutil.rmtree(first.folder / "lib")
    second = make("standin@main", repository=repository)["standin@main"]
    assert isinstance(second, Environment)
    assert second.facts.package_sha256 == first.facts.package_sha256


@needs_cargo
def test_a_build_that_fails_shows_its_log_and_the_other_revision_is_built(
    repository: Repository, tmp_path: Path
) -> None:
    standin.write_repository(tmp_path / "broken")
    (tmp_path / "broken" / "src" / "main.rs").write_text("fn main() { this is no Rust }")
    made = make("main=standin@main", f"standin@{tmp_path / 'broken'}", repository=repository)
    assert isinstance(made["main"], Environment)
    assert isinstance(made["broken"], HarnessError)
    assert "error" in str(made["broken"])
    assert str(repository.cache.root / "logs") in str(made["broken"])


def test_hyperfine_is_located_or_set_up_and_new_enough() -> None:
    version = tuple(map(int, locate(Cache(), lambda _what: None).version.split(".")))
    assert version >= (1, 13)

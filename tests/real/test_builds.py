"""Real compilers: two commits never share a binary, and what is interrupted is made anew."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import standin
from tests.running import run
from waitbench.environments.origins import OriginResolver
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import resolve
from waitbench.environments.virtualenvs import EnvironmentBuilder
from waitbench.model.errors import HarnessError
from waitbench.model.revision import Environment
from waitbench.system.paths import Cache

pytestmark = pytest.mark.integration

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="source builds need cargo")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """One for all tests: what builds share is made once, and must mislead none."""
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def repository(repository_folder: tuple[Path, dict[str, str]], cache: Cache) -> Repository:
    return Repository(str(repository_folder[0]), cache)


def make(*texts: str, repository: Repository) -> Mapping[str, Environment | HarnessError]:
    engine = standin.StandIn()
    resolver = OriginResolver(engine, repository, repository.cache)
    specs = resolver.choose(resolve(texts, engine, repository), "auto", None)
    return EnvironmentBuilder(engine=engine, cache=repository.cache).build_all(specs)


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
    recorded = [env.build.extensions for env in kept if isinstance(env, Environment)]
    assert recorded[0] != recorded[1], "their digests are in the results"
    again = make("again=r0.0.1", repository=repository)
    assert again["again"] == made["one"], "reused when complete"

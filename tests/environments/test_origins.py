"""One interpreter and one origin for a comparison."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import standin
from tests.repositories import everywhere
from waitbench.environments import interpreters, origins
from waitbench.environments.index import Index
from waitbench.environments.origins import Chooser
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import resolve
from waitbench.model.environment import EnvironmentSpec, Interpreter, Origin, OriginChoice
from waitbench.model.errors import UsageError
from waitbench.system.places import Cache

PYTHONS = tuple(
    Interpreter(f"/python{v}", f"{v}.1") for v in ("3.13", "3.12", "3.11", "3.10", "3.9")
)


@dataclass(frozen=True)
class FakeIndex(Index):
    """An index with given wheels: version -> minors."""

    wheels: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("0.16.0", ("3.9", "3.10")),
        ("0.16.1", ("3.9", "3.10", "3.11")),
        ("0.21.1", ("3.11", "3.12")),
        ("0.5.0", ("3.9", "3.10", "3.11")),
    )

    def wheel(self, version: str, python: Interpreter) -> Path | None:
        fits = python.minor_text in dict(self.wheels).get(version, ())
        return Path(f"/{version}-{python.minor_text}.whl") if fits else None

    def releases(self, python: Interpreter, *, prereleases: bool = False) -> tuple[str, ...]:
        return tuple(version for version, minors in self.wheels if python.minor_text in minors)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with certain Pythons, and an index with certain wheels."""
    monkeypatch.setattr(origins, "installed", lambda _cache: PYTHONS)
    monkeypatch.setattr(interpreters, "installed", lambda _cache: PYTHONS)
    monkeypatch.setattr(origins, "index_of", lambda engine, cache: FakeIndex(engine.package, cache))


def chosen(
    texts: list[str],
    repository: Repository,
    cache: Cache,
    choice: OriginChoice = OriginChoice.AUTO,
    python: str | None = None,
) -> tuple[EnvironmentSpec, ...]:
    chooser = Chooser(everywhere(repository), cache)
    return chooser.choose(resolve(texts, everywhere(repository)), choice, python)


def test_the_newest_python_that_all_wheels_support_is_chosen(
    repository: Repository, cache: Cache
) -> None:
    specs = chosen(["v0.16.0", "v0.16.1"], repository, cache)
    assert [(r.origin, r.python.minor_text) for r in specs] == [(Origin.WHEEL, "3.10")] * 2
    assert chosen(["v0.16.1"], repository, cache)[0].python.minor_text == "3.11"


def test_a_commit_among_releases_makes_all_of_them_source_builds(
    repository: Repository, cache: Cache
) -> None:
    specs = chosen(["standin@r0.0.1", "standin@main"], repository, cache)
    assert [r.origin for r in specs] == [Origin.SOURCE] * 2
    assert specs[0].commit == repository.find_commit("release-0.0.1")
    assert not origins.is_mixed(specs)


def test_releases_without_a_common_wheel_are_built_if_the_repository_has_them(
    repository: Repository, cache: Cache
) -> None:
    with pytest.raises(UsageError, match="no tag for release"):
        chosen(["v0.16.0", "v0.21.1"], repository, cache)
    assert chosen(["standin@r0.0.1"], repository, cache)[0].origin is Origin.SOURCE


def test_where_wheels_need_another_python_it_is_named_if_nothing_can_be_built(
    repository: Repository, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origins, "installed", lambda _cache: PYTHONS[:3])
    with pytest.raises(UsageError, match="no tag for release") as raised:
        chosen(["v0.16.0", "v0.16.1"], repository, cache)
    assert str(raised.value).splitlines()[-1] == (
        "Wheels of all of them are for Python 3.9 or 3.10; here is 3.13, 3.12, 3.11. With one of "
        "those nothing is built: uv python install 3.10, or pyenv install 3.10, or name one with "
        "--python."
    )
    with pytest.raises(UsageError) as raised:
        chosen(["v0.16.0", "v0.21.1"], repository, cache)
    assert "Wheels of all" not in str(raised.value)


def test_a_mix_of_origins_happens_only_when_asked_for(
    repository: Repository, cache: Cache, tmp_path: Path
) -> None:
    wheel = standin.revision(tmp_path)
    with pytest.raises(UsageError, match="--origin mixed"):
        chosen(["standin@r0.5.0", wheel], repository, cache)
    specs = chosen(["standin@r0.5.0", wheel], repository, cache, OriginChoice.MIXED)
    assert [r.origin for r in specs] == [Origin.WHEEL, Origin.FILE]
    assert origins.is_mixed(specs)


def test_a_checkout_and_a_commit_are_both_built_here_and_no_mix(
    repository: Repository, cache: Cache, tmp_path: Path
) -> None:
    standin.write_repository(tmp_path / "checkout")
    specs = chosen(["standin@main", f"standin@{tmp_path / 'checkout'}"], repository, cache)
    assert [r.origin for r in specs] == [Origin.SOURCE, Origin.CHECKOUT]
    assert not origins.is_mixed(specs)


def test_origins_that_a_revision_cannot_have_are_refused(
    repository: Repository, cache: Cache, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="not a release"):
        chosen(["standin@main"], repository, cache, OriginChoice.WHEEL)
    with pytest.raises(UsageError, match="cannot be built"):
        chosen([standin.revision(tmp_path)], repository, cache, OriginChoice.SOURCE)


def test_python_can_be_named_but_must_exist_and_fit(repository: Repository, cache: Cache) -> None:
    assert chosen(["v0.16.0"], repository, cache, python="3.9")[0].python.minor_text == "3.9"
    with pytest.raises(UsageError, match=r"no such CPython here. Installed: 3\.13\.1"):
        chosen(["v0.16.0"], repository, cache, python="3.7")
    with pytest.raises(UsageError, match="neither a version"):
        chosen(["v0.16.0"], repository, cache, python="/no/python")
    with pytest.raises(UsageError, match=r"v0\.16\.0"):
        chosen(["v0.16.0"], repository, cache, OriginChoice.WHEEL, python="3.12")


def test_a_source_build_knows_when_its_commit_was_made(
    repository: Repository, cache: Cache
) -> None:
    (spec,) = chosen(["standin@main"], repository, cache)
    assert spec.commit_date is not None
    assert spec.commit_date.startswith("2020-01-01T00:00:00")

"""One interpreter and one origin for a comparison."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import standin
from waitbench.environments import interpreters, origins
from waitbench.environments.index import Index
from waitbench.environments.interpreters import Interpreter
from waitbench.environments.origins import Origin, OriginChoice, Recipe, choose
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import resolve
from waitbench.model.errors import UsageError
from waitbench.system.places import Cache

PYTHONS = tuple(Interpreter(f"/python{v}", f"{v}.1") for v in ("3.13", "3.12", "3.11", "3.10", "3.9"))


@dataclass(frozen=True)
class FakeIndex(Index):
    """An index with given wheels: version -> minors."""

    wheels: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("0.16.0", ("3.9", "3.10")),
        ("0.16.1", ("3.9", "3.10", "3.11")),
        ("0.21.1", ("3.11", "3.12")),
    )

    def wheel(self, version: str, python: Interpreter) -> Path | None:
        fits = python.minor_text in dict(self.wheels).get(version, ())
        return Path(f"/{version}-{python.minor_text}.whl") if fits else None


@pytest.fixture(autouse=True)
def pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "installed", lambda _cache: PYTHONS)
    monkeypatch.setattr(interpreters, "installed", lambda _cache: PYTHONS)


def chosen(
    texts: list[str],
    repository: Repository,
    cache: Cache,
    choice: OriginChoice = OriginChoice.AUTO,
    python: str | None = None,
) -> tuple[Recipe, ...]:
    return choose(resolve(texts, repository), choice, python, repository, FakeIndex(cache))


def test_the_newest_python_that_all_wheels_support_is_chosen(repository: Repository, cache: Cache) -> None:
    recipes = chosen(["v0.16.0", "v0.16.1"], repository, cache)
    assert [(r.origin, r.python.minor_text) for r in recipes] == [(Origin.WHEEL, "3.10")] * 2
    assert chosen(["v0.16.1"], repository, cache)[0].python.minor_text == "3.11"


def test_a_commit_among_releases_makes_all_of_them_source_builds(repository: Repository, cache: Cache) -> None:
    recipes = chosen(["v0.0.1", "main"], repository, cache)
    assert [r.origin for r in recipes] == [Origin.SOURCE] * 2
    assert recipes[0].commit == repository.find_commit("v0.0.1")
    assert not origins.is_mixed(recipes)


def test_releases_without_a_common_wheel_are_built_if_the_repository_has_them(repository: Repository, cache: Cache) -> None:
    with pytest.raises(UsageError, match="no tag for release"):
        chosen(["v0.16.0", "v0.21.1"], repository, cache)
    assert chosen(["v0.0.1"], repository, cache)[0].origin is Origin.SOURCE


def test_a_mix_of_origins_happens_only_when_asked_for(repository: Repository, cache: Cache, tmp_path: Path) -> None:
    wheel = str(standin.write_wheel(tmp_path))
    with pytest.raises(UsageError, match="--origin mixed"):
        chosen(["v0.16.1", wheel], repository, cache)
    recipes = chosen(["v0.16.1", wheel], repository, cache, OriginChoice.MIXED)
    assert [r.origin for r in recipes] == [Origin.WHEEL, Origin.FILE]
    assert origins.is_mixed(recipes)


def test_a_checkout_and_a_commit_are_both_built_here_and_no_mix(
    repository: Repository, cache: Cache, tmp_path: Path
) -> None:
    standin.write_repository(tmp_path / "checkout")
    recipes = chosen(["main", str(tmp_path / "checkout")], repository, cache)
    assert [r.origin for r in recipes] == [Origin.SOURCE, Origin.CHECKOUT]
    assert not origins.is_mixed(recipes)


def test_origins_that_a_revision_cannot_have_are_refused(repository: Repository, cache: Cache, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no release"):
        chosen(["main"], repository, cache, OriginChoice.WHEEL)
    with pytest.raises(UsageError, match="cannot be built"):
        chosen([str(standin.write_wheel(tmp_path))], repository, cache, OriginChoice.SOURCE)


def test_python_can_be_named_but_must_exist_and_fit(repository: Repository, cache: Cache) -> None:
    assert chosen(["v0.16.0"], repository, cache, python="3.9")[0].python.minor_text == "3.9"
    with pytest.raises(UsageError, match=r"no such CPython here. Installed: 3\.13\.1"):
        chosen(["v0.16.0"], repository, cache, python="3.7")
    with pytest.raises(UsageError, match="neither a version"):
        chosen(["v0.16.0"], repository, cache, python="/no/python")
    with pytest.raises(UsageError, match=r"v0\.16\.0"):
        chosen(["v0.16.0"], repository, cache, OriginChoice.WHEEL, python="3.12")


@pytest.mark.parametrize(
    ("pyo3", "newest"), [("0.17.2", "3.11"), ("0.21.1", "3.12"), ("0.25.1", "3.13"), ("9.9.9", "3.13")]
)
def test_source_builds_know_the_newest_python_of_their_pyo3(
    pyo3: str, newest: str, repository: Repository, cache: Cache, tmp_path: Path
) -> None:
    (tmp_path / "checkout").mkdir()
    standin.write_sources(tmp_path / "checkout")
    (tmp_path / "checkout" / "Cargo.lock").write_text(f'[[package]]\nname = "pyo3"\nversion = "{pyo3}"\n')
    assert chosen([str(tmp_path / "checkout")], repository, cache)[0].python.minor_text == newest


def test_this_machines_interpreters_are_found_without_shims(monkeypatch: pytest.MonkeyPatch, cache: Cache) -> None:
    monkeypatch.undo()
    found = interpreters.installed(cache)
    assert found, "the Python that runs this test at least"
    assert all(Path(python.executable).is_file() and "shims" not in python.executable for python in found)
    assert [p.minor for p in found] == sorted({p.minor for p in found}, reverse=True)

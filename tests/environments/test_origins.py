"""One interpreter and one origin for a comparison."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import standin
from waitbench import engines
from waitbench.engines.base import Engine
from waitbench.environments import origins, uv
from waitbench.environments.origins import OriginResolver
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import resolve
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import EnvironmentSpec, Interpreter, Origin, OriginChoice
from waitbench.system.paths import Cache

PYTHONS = tuple(
    Interpreter(f"/python{v}", f"{v}.1") for v in ("3.13", "3.12", "3.11", "3.10", "3.9")
)
WHEELS = {
    "0.16.0": ("3.9", "3.10"),
    "0.16.1": ("3.9", "3.10", "3.11"),
    "0.21.1": ("3.11", "3.12"),
    "0.5.0": ("3.9", "3.10", "3.11"),
}
"""Of releases on the index: the Pythons that they are for."""


PYTHONS_OF_ARCHIVES = tuple(python.minor_text for python in PYTHONS)
"""A source archive can be built on each, perhaps."""


@dataclass
class Machine:
    """A machine with certain Pythons, and an index with certain wheels."""

    pythons: tuple[Interpreter, ...] = PYTHONS
    fetched: list[str] = field(default_factory=list)
    reaches_index: bool = True

    def obstacle(self, engine: Engine, spec: EnvironmentSpec, *, offline: bool = False) -> str:
        if not self.reaches_index and not offline:
            raise HarnessError("The package index does not answer.")
        wanted = [spec.source.identity] if spec.origin is Origin.WHEEL else []
        wanted += [pin.partition("==")[2] for pin in engine.requirements]
        pythons = [WHEELS.get(version, ()) for version in wanted]
        if spec.archives != "none" and engine.takes_archives:
            pythons = [PYTHONS_OF_ARCHIVES if fitting else () for fitting in pythons]
        fits = all(spec.python.minor_text in fitting for fitting in pythons)
        return "" if fits else f"there is no version of {wanted[-1]}"

    def listed(self, _cache: Cache, version: str = "") -> list[Interpreter]:
        return [
            python
            for python in self.pythons
            if f"{python.version}.".startswith(version and f"{version}.")
        ]

    def fetch(self, version: str, _cache: Cache, _say: object) -> Interpreter:
        self.fetched.append(version)
        return Interpreter(f"/fetched/{version}", f"{version}.9")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(uv, "_pythons", made.listed)
    monkeypatch.setattr(uv, "fetch_python", made.fetch)
    monkeypatch.setattr(uv, "why_unmet", made.obstacle)
    return made


Choose = Callable[..., tuple[EnvironmentSpec, ...]]


@pytest.fixture
def chosen(repository: Repository, cache: Cache) -> Choose:
    """What is chosen of revisions as they are typed."""

    def choose(
        *texts: str, choice: OriginChoice = "auto", python: str | None = None
    ) -> tuple[EnvironmentSpec, ...]:
        engine = engines.DEFAULT if texts[0].startswith("v") else standin.StandIn()
        resolver = OriginResolver(engine, repository, cache)
        return resolver.choose(resolve(texts, engine, repository), choice, python)

    return choose


def test_the_newest_python_that_all_wheels_support_is_chosen(chosen: Choose) -> None:
    specs = chosen("v0.16.0", "v0.16.1")
    assert [(r.origin, r.python.minor_text) for r in specs] == [(Origin.WHEEL, "3.10")] * 2
    assert chosen("v0.16.1")[0].python.minor_text == "3.11"


def test_a_commit_among_releases_makes_all_of_them_source_builds(
    chosen: Choose, repository: Repository
) -> None:
    specs = chosen("r0.0.1", "main")
    assert [r.origin for r in specs] == [Origin.SOURCE] * 2
    assert specs[0].commit == repository.find_commit("release-0.0.1")
    assert (specs[0].commit_date or "").startswith("2020-01-01T00:00:00")
    assert not origins.is_mixed(specs)


def test_releases_without_a_common_wheel_are_built_if_the_repository_has_them(
    chosen: Choose,
) -> None:
    with pytest.raises(UsageError, match=r"no commit, branch or tag 'v0\.16\.0'"):
        chosen("v0.16.0", "v0.21.1")
    assert chosen("r0.0.1")[0].origin is Origin.SOURCE


def test_a_python_that_all_wheels_need_is_fetched_if_none_here_will_do(
    chosen: Choose, machine: Machine
) -> None:
    machine.pythons = PYTHONS[:3]
    specs = chosen("v0.16.0", "v0.16.1")
    assert [(r.origin, r.python.executable) for r in specs] == [
        (Origin.WHEEL, "/fetched/3.10")
    ] * 2, "the newest that both have wheels for"
    machine.pythons = (PYTHONS[-1],)
    specs = chosen("v0.16.0", "v0.16.1")
    assert specs[0].python == PYTHONS[-1], "one that is here will do"
    assert machine.fetched == ["3.10"]


def test_what_the_index_said_before_decides_where_it_cannot_be_reached(
    chosen: Choose, machine: Machine
) -> None:
    machine.reaches_index = False
    assert chosen("v0.16.0")[0].python.minor_text == "3.10"
    with pytest.raises(HarnessError, match="does not answer"):
        chosen("v0.16.9")


class WithArchives(standin.StandIn):
    takes_archives = True


class OfVariants(WithArchives):
    package, variants = "", ("slow", "fast")


@pytest.mark.parametrize("engine", [WithArchives(), OfVariants()])
def test_wheels_for_an_older_python_come_before_a_build_on_a_newer_one(
    engine: Engine, cache: Cache
) -> None:
    texts = ["slow", "fast"] if engine.variants else ["r0.5.0"]
    resolver = OriginResolver(engine, None, cache)
    revisions = resolve(texts, engine, None)
    for beside, python, archives in (
        ((), "3.13" if engine.variants else "3.11", "none"),
        (("beside==0.16.0",), "3.10", "none"),
        (("beside==0.16.0", "other==0.21.1"), "3.13", "dependencies"),
    ):
        engine.requirements = beside
        chosen = resolver.choose(revisions, "auto", None)
        assert {(it.python.minor_text, it.archives) for it in chosen} == {(python, archives)}


def test_a_release_that_does_not_exist_is_named(chosen: Choose) -> None:
    with pytest.raises(UsageError) as raised:
        chosen("v0.99.0", "v0.21.1", choice="wheel")
    assert str(raised.value).splitlines()[1:3] == [
        "  v0.99.0 (wheel): none, as there is no version of 0.99.0",
        "  v0.21.1 (wheel): 3.12, 3.11",
    ]


def test_a_mix_of_origins_happens_only_when_asked_for(chosen: Choose, tmp_path: Path) -> None:
    wheel = standin.revision(tmp_path)
    with pytest.raises(UsageError, match="--origin mixed"):
        chosen("r0.5.0", wheel)
    specs = chosen("r0.5.0", wheel, choice="mixed")
    assert [r.origin for r in specs] == [Origin.WHEEL, Origin.FILE]
    assert origins.is_mixed(specs)
    # A checkout and a commit are both built here.
    standin.write_repository(tmp_path / "checkout")
    specs = chosen("main", str(tmp_path / "checkout"))
    assert [r.origin for r in specs] == [Origin.SOURCE, Origin.CHECKOUT]
    assert not origins.is_mixed(specs)


def test_origins_that_a_revision_cannot_have_are_refused(chosen: Choose, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a release"):
        chosen("main", choice="wheel")
    with pytest.raises(UsageError, match="cannot be built"):
        chosen(standin.revision(tmp_path), choice="source")


def test_python_can_be_named_but_must_fit(chosen: Choose, machine: Machine) -> None:
    assert chosen("v0.16.0", python="3.9")[0].python.minor_text == "3.9"
    chosen("v0.16.0", python="3.10.9")
    assert machine.fetched == ["3.10.9"]
    with pytest.raises(UsageError, match=r"v0\.16\.0"):
        chosen("v0.16.0", choice="wheel", python="3.12")

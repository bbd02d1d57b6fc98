"""What the package index has for a Python, and when it does not say."""

import functools
import tarfile
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from tests import histories, standin
from tests.environments.serving import Serving, served
from waitbench.engines.base import Engine
from waitbench.environments import uv
from waitbench.model.errors import HarnessError
from waitbench.model.revision import Archives, Interpreter

pytestmark = pytest.mark.integration

PYTHONS = [Interpreter("", f"3.{minor}.0") for minor in (10, 11, 12)]
ENGINE = standin.StandIn()


class WithArchives(standin.StandIn):
    """An engine whose releases may be built here."""

    takes_archives = True


def obstacle(
    version: str,
    python: Interpreter = PYTHONS[0],
    engine: Engine = ENGINE,
    *,
    archives: Archives = "none",
    offline: bool = False,
) -> str:
    """Why a release cannot be installed."""
    spec = replace(histories.release(version), python=python, archives=archives)
    return uv.why_unmet(engine, spec, offline=offline)


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set by the user, and uv keeps nothing."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all there is of an index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    return tmp_path / "links"


def release(folder: Path, version: str, tag: str = "py3-none-any") -> Path:
    """Puts a wheel of the stand-in into a folder."""
    wheel = standin.write_wheel(folder, version=version)
    return wheel.rename(folder / f"stand_in-{version}-{tag}.whl")


def test_a_release_is_there_for_the_pythons_that_its_wheels_are_for(links: Path) -> None:
    for tag in ("cp310-none-any", "cp311-none-any", "cp312-none-win_amd64"):
        release(links, "0.1.0", tag)
    assert [obstacle("0.1.0", python) for python in PYTHONS[:2]] == ["", ""]
    assert "has no wheels with a matching" in obstacle("0.1.0", PYTHONS[2])
    assert obstacle("0.2.0") == "there is no version of stand-in==0.2.0"
    # A source archive is taken only of an engine that may be built from it, after all wheels.
    project = links / "pyproject.toml"
    project.write_text('[project]\nname = "stand-in"\nversion = "0.1.0"\n')
    with tarfile.open(links / "stand_in-0.1.0.tar.gz", "w:gz") as packed:
        packed.add(project, "stand_in-0.1.0/pyproject.toml")
    assert obstacle("0.1.0", PYTHONS[2], archives="all")
    assert obstacle("0.1.0", PYTHONS[2], WithArchives())
    assert not obstacle("0.1.0", PYTHONS[2], WithArchives(), archives="all")


def test_the_package_of_all_revisions_comes_from_wheels_or_from_archives() -> None:
    release = histories.release("0.1.0")
    levels = [
        uv.options(WithArchives(), replace(release, archives=level)) for level in get_args(Archives)
    ]
    assert levels == [
        ["--only-binary", ":all:"], ["--only-binary", "stand-in"], ["--no-binary", "stand-in"],
    ]  # fmt: skip
    commit = histories.at("1" * 40)
    assert uv.options(WithArchives(), replace(commit, archives="all")) == []


def test_what_is_installed_beside_a_release_or_for_it_is_to_have_wheels_too(links: Path) -> None:
    standin.write_wheel_of(links, "stand-in", {}, "1.0", "Requires-Dist: needed\n")
    assert "needed was not found" in obstacle("1.0")
    for tag in ("cp310", "cp311"):
        needed = standin.write_wheel_of(links, "needed", {})
        needed.rename(links / f"needed-1.0-{tag}-none-any.whl")
    assert [not obstacle("1.0", python) for python in PYTHONS] == [True, True, False]
    beside = standin.write_wheel_of(links, "beside", {})
    beside.rename(links / "beside-1.0-cp310-none-any.whl")
    engine = WithArchives()
    engine.requirements = ("beside==1.0",)
    assert [not obstacle("1.0", python, engine) for python in PYTHONS] == [True, False, False]


def test_releases_are_those_for_a_python_the_newest_first(links: Path) -> None:
    for version in ("0.10.0", "0.2.0", "0.3.0rc1", "0.11.0.post1"):
        release(links, version)
    release(links, "0.4.0", "cp38-none-any")
    listed = functools.partial(uv.releases, ENGINE, PYTHONS[1])
    assert [*listed()] == ["0.11.0.post1", "0.10.0", "0.2.0"]
    assert [*listed(">=0.2.0,!=0.2.0,<=0.10.0,!=0.10.0", prereleases=True)] == ["0.3.0rc1"]


@pytest.mark.parametrize("code", [503, 403, 401])
def test_an_index_that_does_not_answer_is_not_one_without_the_release(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(type("Refusing", (Serving,), {"refuses_with": code}), monkeypatch) as server:
        with pytest.raises(HarnessError, match="The package index does not answer for stand-in"):
            obstacle("0.1.0")
        with pytest.raises(HarnessError, match="does not answer"):
            next(uv.releases(ENGINE, PYTHONS[0]))
        server.shutdown()


def test_what_an_index_says_of_its_files_holds_also_when_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pages" / "simple" / "stand-in"
    name = release(folder, "0.1.0").name
    (folder / "index.html").write_text(f'<a href="{name}">{name}</a>')
    handler = functools.partial(Serving, directory=str(tmp_path / "pages"))
    with served(handler, monkeypatch) as server:
        assert [*uv.releases(ENGINE, PYTHONS[0])] == ["0.1.0"]
        server.shutdown()
    with pytest.raises(HarnessError, match="does not answer"):
        obstacle("0.1.0", archives="all")
    assert not obstacle("0.1.0", offline=True, archives="all")
    assert obstacle("0.3.0", offline=True, archives="all")

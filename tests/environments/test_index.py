"""What the package index has for a Python, and when it does not say."""

import functools
import http.server
import tarfile
import threading
from pathlib import Path

import pytest

from tests import standin
from waitbench.environments import index
from waitbench.model.environment import Interpreter
from waitbench.model.errors import HarnessError

pytestmark = pytest.mark.integration

PYTHONS = [Interpreter("", f"3.{minor}.0") for minor in (10, 11, 12)]
ENGINE = standin.StandIn()


class WithArchives(standin.StandIn):
    """An engine whose releases may be built here."""

    takes_archives = True


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
    assert [index.has(ENGINE, "0.1.0", python) for python in PYTHONS] == [True, True, False]
    assert not index.has(ENGINE, "0.2.0", PYTHONS[0])
    # A source archive is taken only of an engine that may be built from it.
    project = links / "pyproject.toml"
    project.write_text('[project]\nname = "stand-in"\nversion = "0.1.0"\n')
    with tarfile.open(links / "stand_in-0.1.0.tar.gz", "w:gz") as packed:
        packed.add(project, "stand_in-0.1.0/pyproject.toml")
    assert not index.has(ENGINE, "0.1.0", PYTHONS[2])
    assert all(index.has(WithArchives(), "0.1.0", python) for python in PYTHONS)


def test_releases_are_those_for_a_python_the_newest_first(links: Path) -> None:
    for version in ("0.10.0", "0.2.0", "0.3.0rc1", "0.11.0.post1"):
        release(links, version)
    release(links, "0.4.0", "cp38-none-any")
    listed = functools.partial(index.releases, ENGINE, PYTHONS[1])
    assert [*listed()] == ["0.11.0.post1", "0.10.0", "0.2.0"]
    assert [*listed(">=0.2.0,!=0.2.0,<=0.10.0,!=0.10.0", prereleases=True)] == ["0.3.0rc1"]


class Serving(http.server.SimpleHTTPRequestHandler):
    refuses_with = 0

    def do_GET(self) -> None:
        self.send_error(self.refuses_with) if self.refuses_with else super().do_GET()

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *_arguments: object) -> None:
        pass


def served(handler: object, monkeypatch: pytest.MonkeyPatch) -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)  # type: ignore[arg-type]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    return server


@pytest.mark.parametrize("code", [503, 403, 401])
def test_an_index_that_does_not_answer_is_not_one_without_the_release(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(type("Refusing", (Serving,), {"refuses_with": code}), monkeypatch) as server:
        with pytest.raises(HarnessError, match="The package index does not answer for stand-in"):
            index.has(ENGINE, "0.1.0", PYTHONS[0])
        with pytest.raises(HarnessError, match="does not answer"):
            next(index.releases(ENGINE, PYTHONS[0]))
        server.shutdown()


def test_what_an_index_says_of_its_files_holds_also_when_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pages" / "simple" / "stand-in"
    name = release(folder, "0.1.0").name
    (folder / "index.html").write_text(f'<a href="{name}">{name}</a>')
    handler = functools.partial(Serving, directory=str(tmp_path / "pages"))
    with served(handler, monkeypatch) as server:
        assert [*index.releases(ENGINE, PYTHONS[0])] == ["0.1.0"]
        server.shutdown()
    with pytest.raises(HarnessError, match="does not answer"):
        index.has(ENGINE, "0.1.0", PYTHONS[0])
    assert index.has(ENGINE, "0.1.0", PYTHONS[0], offline=True)
    assert not index.has(ENGINE, "0.3.0", PYTHONS[0], offline=True)

"""What the package index says of a wheel, and what is only a page that says nothing."""

import http.server
import io
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from waitbench.engines.base import ARCHIVE, WHEEL
from waitbench.environments.index import Index
from waitbench.model.environment import Interpreter
from waitbench.model.errors import HarnessError
from waitbench.system.places import Cache

pytestmark = pytest.mark.integration

PYTHON = Interpreter("/usr/bin/python3", "3.11.7")
A_FILE = (
    '<a href="/files/stream-0.1.0-cp38-cp38-win_amd64.whl">stream-0.1.0-cp38-cp38-win_amd64.whl</a>'
)
PORTAL = "<html><body>Please log in.</body></html>"


class Answering(http.server.ThreadingHTTPServer):
    """An index that gives everybody the same answer."""

    answer: tuple[int, str] = (200, "")
    archive: bytes | None = None
    """The one file that it gives instead, whatever its name."""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Answering)
        code, text = self.server.answer
        content, kind = text.encode(), "text/html"
        if self.server.archive is not None and self.path.startswith("/files/"):
            content, kind = self.server.archive, "application/gzip"
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answering]:
    with Answering(("127.0.0.1", 0), Handler) as up:
        threading.Thread(target=up.serve_forever, daemon=True).start()
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_RETRIES", "0")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{up.server_port}/simple")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield up
        up.shutdown()


def test_that_there_is_no_wheel_is_remembered_where_the_index_names_others(
    server: Answering, cache: Cache
) -> None:
    server.answer = (200, f"<html><body>{A_FILE}</body></html>")
    assert Index("stream", cache).wheel("0.1.0", PYTHON) is None
    assert list(cache.folder("wheels").glob("*.absent"))


@pytest.mark.parametrize("answer", [(503, "busy"), (403, "no"), (200, PORTAL), (200, "")])
def test_what_is_no_answer_is_an_error_and_is_not_remembered(
    answer: tuple[int, str], server: Answering, cache: Cache
) -> None:
    server.answer = answer
    with pytest.raises(HarnessError, match="does not answer for stream"):
        Index("stream", cache).wheel("0.1.0", PYTHON)
    assert not list(cache.folder("wheels").iterdir())


def test_a_wheel_that_has_not_the_hash_that_the_index_names_is_not_taken(
    server: Answering, cache: Cache
) -> None:
    wheel = "stream-0.1.0-py3-none-any.whl"
    server.answer = (200, f'<html><a href="/files/{wheel}#sha256={"0" * 64}">{wheel}</a></html>')
    with pytest.raises(HarnessError, match="DO NOT MATCH THE HASHES"):
        Index("stream", cache).wheel("0.1.0", PYTHON)
    assert not list(cache.folder("wheels").iterdir())


RELEASES = (
    *(f"stream-{version}-py3-none-any.whl" for version in ("0.10.0", "0.2.0", "0.3.0rc1")),
    "stream-0.4.0-cp38-cp38-win_amd64.whl",
    "stream-0.5.0.tar.gz",
)


def page(*more: str) -> str:
    links = [f'<a href="/files/{name}">{name}</a>' for name in RELEASES]
    return f"<!DOCTYPE html><html><body>{''.join([*links, *more])}</body></html>"


def test_releases_are_those_with_a_wheel_that_fits_and_are_not_yanked_by_version(
    server: Answering, cache: Cache
) -> None:
    yanked = "stream-0.6.0-py3-none-any.whl"
    server.answer = (200, page(f'<a data-yanked="bad" href="/files/{yanked}">{yanked}</a>'))
    index = Index("stream", cache)
    assert index.releases(PYTHON) == ("0.2.0", "0.10.0")
    assert index.releases(PYTHON, prereleases=True) == ("0.2.0", "0.3.0rc1", "0.10.0")


@pytest.mark.parametrize("answer", [(503, "busy"), (200, PORTAL)])
def test_releases_are_not_told_by_an_index_that_does_not_answer(
    answer: tuple[int, str],
    server: Answering,
    cache: Cache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server.answer = answer
    with pytest.raises(HarnessError, match="does not answer for stream"):
        Index("stream", cache).releases(PYTHON)
    if answer[0] != 200:
        # Some, had from elsewhere, are not all.
        (tmp_path / "stream-0.2.0-py3-none-any.whl").touch()
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
        with pytest.raises(HarnessError, match="does not answer for stream"):
            Index("stream", cache).releases(PYTHON)


HERE = Interpreter(sys.executable, ".".join(map(str, sys.version_info[:3])))
BACKEND = """\
import zipfile

def build_wheel(folder, *_settings):
    name = "stream-0.5.0-py3-none-any.whl"
    info = "stream-0.5.0.dist-info/"
    with zipfile.ZipFile(folder + "/" + name, "w") as wheel:
        metadata = "Metadata-Version: 2.1\\nName: stream\\nVersion: 0.5.0\\n"
        wheel.writestr(info + "METADATA", metadata)
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return name
"""


def archive(backend: str, python: str = ">=3.9") -> bytes:
    """A source archive that builds itself, and needs nothing for that."""
    project = (
        f'[project]\nname = "stream"\nversion = "0.5.0"\nrequires-python = "{python}"\n'
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    info = f"Metadata-Version: 2.1\nName: stream\nVersion: 0.5.0\nRequires-Python: {python}\n"
    files = {"pyproject.toml": project, "backend.py": backend, "PKG-INFO": info}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"stream-0.5.0/{name}")
            member.size, member.mtime = len(text), int(time.time())
            tar.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


def test_a_wheel_is_made_from_the_source_archive_and_kept(server: Answering, cache: Cache) -> None:
    server.answer, server.archive = (200, page()), archive(BACKEND)
    index = Index("stream", cache, files=(ARCHIVE,))
    wheel = index.wheel("0.5.0", HERE)
    assert wheel is not None
    assert wheel.name == "stream-0.5.0-py3-none-any.whl"
    server.answer = (503, "busy")
    assert index.wheel("0.5.0", HERE) == wheel


def test_a_source_archive_that_does_not_become_a_wheel_is_an_error_with_the_reason(
    server: Answering, cache: Cache
) -> None:
    server.answer = (200, page())
    server.archive = archive("def build_wheel(*_): raise RuntimeError('on purpose')")
    with pytest.raises(HarnessError, match=r"(?s)does not become a wheel.*on purpose"):
        Index("stream", cache, files=(ARCHIVE,)).wheel("0.5.0", HERE)
    assert not list(cache.folder("wheels").iterdir())


def test_a_source_archive_stands_in_for_a_wheel_that_is_not_there(
    server: Answering, cache: Cache
) -> None:
    server.answer, server.archive = (200, page()), archive(BACKEND)
    index = Index("stream", cache, files=(WHEEL, ARCHIVE))
    assert index.releases(HERE) == ("0.2.0", "0.5.0", "0.10.0")
    wheel = index.wheel("0.5.0", HERE)
    assert wheel is not None
    assert wheel.name == "stream-0.5.0-py3-none-any.whl"
    assert index.wheel("0.4.0", HERE) is None
    assert Index("stream", cache).wheel("0.5.0", HERE) == wheel, "one that was made is one"


def test_a_package_that_the_index_does_not_have_is_not_remembered(
    server: Answering, cache: Cache
) -> None:
    server.answer = (404, "not found")
    assert Index("stream", cache).wheel("0.1.0", PYTHON) is None
    assert not list(cache.folder("wheels").iterdir())

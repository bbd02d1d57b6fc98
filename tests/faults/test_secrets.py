"""What nobody is told: a token in a URL, and what the caller's shell holds besides."""

import base64
import functools
import http.server
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests import standin
from tests.bisect_repository import BACKEND, PYPROJECT
from tests.faults import clones
from tests.faults.clones import QUICK, Clone

pytestmark = pytest.mark.integration

SECRET, TOKEN = "canary-of-the-shell", "canary-of-the-url"

TELLS = """
import os, pathlib, sys
told = pathlib.Path({folder!r}) / f"{{os.getpid()}}"
told.write_text("\\n".join([repr(sys.argv), *map("=".join, os.environ.items())]))
"""
"""Code under test that writes down all that it is told: a build, an import, a run."""


class Host(http.server.SimpleHTTPRequestHandler):
    """Gives a repository's files to who has the token."""

    def do_GET(self) -> None:
        wanted = base64.b64encode(f"user:{TOKEN}".encode()).decode()
        if self.headers["Authorization"] == f"Basic {wanted}":
            super().do_GET()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="private"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the code under test tells what it was told."""
    return tmp_path_factory.mktemp("told")


@pytest.fixture(scope="module")
def private_url(told: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a repository is that only a token opens, token and all."""
    served = tmp_path_factory.mktemp("host")
    folder = served / "engine"
    folder.mkdir()
    tells = TELLS.format(folder=str(told))
    standin.write_package(folder)
    (folder / "standin" / "__init__.py").write_text(tells)
    (folder / "backend.py").write_text(BACKEND + tells)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    standin.git(folder, "init", "--quiet", "--initial-branch", "main")
    standin.git(folder, "add", "--all")
    standin.git(folder, "commit", "--quiet", "--message", "all")
    standin.git(folder, "update-server-info")
    handler = functools.partial(Host, directory=str(served))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as up:
        threading.Thread(target=up.serve_forever, daemon=True).start()
        yield f"http://user:{TOKEN}@127.0.0.1:{up.server_port}/engine/.git"
        up.shutdown()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return clones.make(tmp_path_factory.mktemp("clone"))


def compare(
    clone: Clone, told: Path, *arguments: str, env: Mapping[str, str] = {}
) -> "subprocess.CompletedProcess[str]":
    for file in told.iterdir():
        file.unlink()
    variables = {"SECRET_TOKEN": SECRET, "NO_PROXY": "127.0.0.1", **env}
    return clone.run("main", *arguments, *QUICK, "--rounds", "1", env=variables)


def files_with(canary: str, folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert files
    return [path for path in files if canary.encode() in path.read_bytes()]


def kinds(told: Path) -> set[str]:
    """Who of those that were to tell has told: the build, the first import, the run."""
    marks = {"build": "CARGO_TERM_COLOR=", "import": "['-c']", "run": "BENCH_PROBE_DIR="}
    texts = [path.read_text() for path in told.iterdir()]
    return {kind for kind, mark in marks.items() if any(mark in text for text in texts)}


def test_neither_a_variable_nor_a_token_of_a_url_gets_anywhere(
    clone: Clone, told: Path, private_url: str
) -> None:
    done = compare(clone, told, "--repo", private_url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert kinds(told) == {"build", "import", "run"}
    for canary in (SECRET, TOKEN):
        assert canary not in done.stdout + done.stderr
        for folder in (told, clone.root):
            assert files_with(canary, folder) == []


def test_a_variable_that_is_named_is_passed_to_what_is_under_test_and_kept_nowhere(
    clone: Clone, told: Path, private_url: str
) -> None:
    variables = {"RUSTFLAGS": "--cfg passed", "BENCH_PASS_ENV": "SECRET_TOKEN"}
    # Another compiler flag: another build, another environment.
    done = compare(clone, told, "--repo", private_url, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert kinds(told) == {"build", "import", "run"}
    assert all(SECRET in path.read_text() for path in told.iterdir())
    assert SECRET not in done.stdout + done.stderr
    assert files_with(SECRET, clone.root) == []


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("no-such-repository", ["main"]),
        ("engine/.git", ["none"]),
        ("engine/.git", ["r9.9.9"]),
    ],
)
def test_a_token_is_not_said_where_something_is_not_found(
    place: str, named: list[str], clone: Clone, private_url: str
) -> None:
    url = private_url.replace("engine/.git", place)
    env = {"SECRET_TOKEN": SECRET, "NO_PROXY": "127.0.0.1"}
    done = clone.run(*named, "--repo", url, "--origin", "source", *QUICK, env=env)
    assert done.returncode == 2, done.stdout + done.stderr
    said = done.stdout + done.stderr
    assert "***@127.0.0.1" in said
    assert not any(canary in said for canary in (TOKEN, SECRET))
    assert files_with(TOKEN, clone.root) == []

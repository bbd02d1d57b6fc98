"""The Pythons of this machine, and one that is fetched."""

import json
import platform
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from waitbench.environments import interpreters
from waitbench.model.environment import Interpreter
from waitbench.model.errors import UsageError
from waitbench.system.places import Cache

VERSION = platform.python_version()
LEFT_OUT = {"test", "site-packages", "idlelib", "tkinter", "ensurepip", "__pycache__"}


def find(request: str, cache: Cache, say: Callable[[str], None] = pytest.fail) -> Interpreter:
    """What is found, or else fetched."""
    return interpreters.find(request, cache, say)


def test_one_of_a_version_manager_is_found_though_it_is_not_on_path(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert interpreters.installed(cache) == ()
    program = tmp_path / "pyenv" / "versions" / "mine" / "bin" / "python3"
    program.parent.mkdir(parents=True)
    program.symlink_to(Path(sys.executable).resolve())
    assert [one.version for one in interpreters.installed(cache)] == [VERSION]


def test_python_is_named_by_version_or_by_path(cache: Cache) -> None:
    assert find(sys.executable, cache).version == VERSION
    minor = ".".join(VERSION.split(".")[:2])
    assert find(minor, cache).minor_text == minor
    for wrong in ("3.8", "2", "/no/python", "/bin/sh", "python", "3.x"):
        with pytest.raises(UsageError, match=r"neither a version .*3\.9 is the oldest"):
            find(wrong, cache)


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """On a machine without Pythons, the file that names all that uv can fetch."""
    for name in ("PATH", "PYENV_ROOT", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    file = tmp_path / "downloads.json"
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS_JSON_URL", str(file))
    file.write_text("{}")
    return file


def packed(folder: Path) -> Path:
    """The Python of this test, as an archive of the kind that uv fetches."""
    own = Path(sys.base_prefix)
    major, minor = sys.version_info[:2]

    def smaller(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        is_left_out = LEFT_OUT.intersection(Path(member.name).parts) or member.name.endswith(".a")
        return None if is_left_out else member

    with tarfile.open(folder / "python.tar.gz", "w:gz", compresslevel=1) as archive:
        for name in (f"bin/python{major}.{minor}", f"lib/python{major}.{minor}"):
            archive.add(own / name, f"python/{name}", filter=smaller)
    return folder / "python.tar.gz"


@pytest.mark.integration
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the archive is said to be of x86_64")
def test_a_python_that_is_not_here_is_fetched_once_into_the_cache(
    downloads: Path, tmp_path: Path, cache: Cache
) -> None:
    major, minor, patch = map(int, VERSION.split("."))
    entry = {
        "name": "cpython", "arch": {"family": "x86_64", "variant": None}, "os": "linux",
        "libc": "gnu", "major": major, "minor": minor, "patch": patch, "prerelease": "",
        "url": packed(tmp_path).as_uri(), "sha256": None, "variant": None, "build": "1",
    }  # fmt: skip
    downloads.write_text(json.dumps({f"cpython-{VERSION}-linux-x86_64-gnu": entry}))
    said: list[str] = []
    fetched = find(f"{major}.{minor}", cache, said.append)
    assert said == [f"fetching Python {major}.{minor} (once)"]
    assert fetched.version == VERSION
    assert Path(fetched.executable).is_relative_to(cache.root)
    downloads.write_text("{}")
    assert interpreters.installed(cache) == (fetched,)
    assert find(VERSION, cache) == fetched


def test_a_python_that_cannot_be_fetched_is_a_sentence_that_says_what_to_install(
    downloads: Path, cache: Cache
) -> None:
    with pytest.raises(UsageError, match=r"install it.*pyenv install 3\.10.*\n.*3\.10"):
        find("3.10", cache, lambda _message: None)

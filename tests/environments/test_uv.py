"""How uv is set up: as pip is, unless the user has set uv; and the Pythons that it has."""

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from waitbench.environments import uv
from waitbench.model.errors import UsageError
from waitbench.model.revision import Interpreter
from waitbench.system.paths import Cache

VERSION = platform.python_version()


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing is set but in a file of pip's."""
    for name in os.environ:
        if name.startswith(("PIP_", "UV_")) or name == "SSL_CERT_FILE":
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "pip.conf"


def test_what_pip_is_set_to_holds_for_uv(unset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unset.write_text(
        "[global]\nindex_url = https://one\nextra-index-url =\n  https://two\n  https://three\n"
        "[install]\nindex-url = https://own\nfind-links = /a /b\ntrusted-host = one\ncert = /ca\n"
        "proxy = http://proxy:3128\n"
    )
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "180")
    settings = uv.settings()
    assert {
        name: settings[name] for name in settings if name.startswith(("UV_", "SSL", "ALL"))
    } == {
        "UV_DEFAULT_INDEX": "https://own",
        "UV_INDEX": "https://two https://three",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/a,/b",
        "UV_INSECURE_HOST": "one",
        "UV_NO_INDEX": "0",
        "UV_HTTP_TIMEOUT": "180",
        "SSL_CERT_FILE": "/ca",
        "ALL_PROXY": "http://proxy:3128",
        "UV_CACHE_DIR": str(Cache().root / "uv"),
        "UV_LINK_MODE": "copy",
        "UV_COMPILE_BYTECODE": "1",
        "UV_NO_PROGRESS": "1",
        "UV_NO_WRAP": "1",
    }


def test_variables_win_over_files_and_those_of_uv_over_those_of_pip(
    unset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unset.write_text("[global]\nindex-url = https://one\ncert = /one\n")
    monkeypatch.setenv("PIP_INDEX_URL", "https://two")
    assert uv.settings()["UV_DEFAULT_INDEX"] == "https://two"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://three")
    monkeypatch.setenv("SSL_CERT_FILE", "/own")
    assert not {"UV_DEFAULT_INDEX", "SSL_CERT_FILE"} & {*uv.settings()}


def test_a_file_of_pips_that_cannot_be_read_is_a_sentence(unset: Path) -> None:
    unset.write_text("index-url = https://one\n")
    with pytest.raises(UsageError, match="pip's settings cannot be read"):
        uv.settings()


def find(request: str, cache: Cache, say: Callable[[str], None] = pytest.fail) -> Interpreter:
    """What is found, or else fetched."""
    return uv.find_python(request, cache, say)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user on a machine without Pythons, where uv knows of none to fetch."""
    for name in ("PATH", "PYENV_ROOT", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    file = tmp_path / "downloads.json"
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS_JSON_URL", str(file))
    file.write_text("{}")
    return tmp_path


def put(folder: Path) -> None:
    """The Python of this test, as a version manager has it."""
    program = folder / "mine" / "bin" / "python3"
    program.parent.mkdir(parents=True)
    program.symlink_to(Path(sys.executable).resolve())


def test_one_of_a_version_manager_is_found_though_it_is_not_on_path(
    bare: Path, cache: Cache
) -> None:
    assert uv.installed_pythons(cache) == ()
    put(bare / "versions")
    assert [python.version for python in uv.installed_pythons(cache)] == [VERSION]


def test_python_is_named_by_version_or_by_path(cache: Cache) -> None:
    assert find(sys.executable, cache).version == VERSION
    minor = ".".join(VERSION.split(".")[:2])
    assert find(minor, cache).minor_text == minor
    for wrong in ("3.8", "2", "/no/python", "/bin/sh", "python", "3.x"):
        with pytest.raises(UsageError, match=r"neither a version .*3\.9 is the oldest"):
            find(wrong, cache)


def test_a_python_that_is_not_here_is_fetched_once_into_the_cache(
    bare: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(*words: str, ask: Any = uv.ask, **variables: str) -> Any:
        if "install" not in words:
            return ask(*words, **variables)
        put(Path(variables["UV_PYTHON_INSTALL_DIR"]))
        return CompletedProcess(words, 0)

    monkeypatch.setattr(uv, "ask", install)
    messages: list[str] = []
    fetched = find(VERSION, cache, messages.append)
    assert messages == [f"fetching Python {VERSION} (once)"]
    assert Path(fetched.executable).is_relative_to(cache.root)
    assert find(VERSION, cache) == fetched


def test_a_python_that_cannot_be_fetched_is_a_sentence_that_says_what_to_install(
    bare: Path, cache: Cache
) -> None:
    with pytest.raises(UsageError, match=r"install it.*pyenv install 3\.10.*\n.*3\.10"):
        find("3.10", cache, lambda _message: None)

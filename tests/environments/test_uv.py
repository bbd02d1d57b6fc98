"""How uv is set up: as pip is, unless the user has set uv."""

import os
from pathlib import Path

import pytest

from waitbench.environments import uv
from waitbench.model.errors import UsageError
from waitbench.system.paths import Cache


@pytest.fixture(autouse=True)
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

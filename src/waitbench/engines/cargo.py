"""Builds with a Rust part, by cargo, such that two revisions never share a binary by accident.

Cargo trusts modification times: with a shared target folder, the second of two commits can come
out as the first one's binary. Dependencies may stay compiled from one build to the next; the
package's own fingerprints are removed before each, and the log must show that it was compiled.
"""

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from waitbench.model.environment import Interpreter, Toolchain
from waitbench.model.errors import HarnessError
from waitbench.system import files

ReadSource = Callable[[str], str | None]
"""The text of one file of a source tree, by its path; ``None`` where there is no such file."""

NEWEST_PYTHON = {
    (0, 17): (3, 11), (0, 18): (3, 11), (0, 19): (3, 12), (0, 20): (3, 12), (0, 21): (3, 12),
    (0, 22): (3, 13), (0, 23): (3, 13), (0, 24): (3, 13), (0, 25): (3, 14),
}  # fmt: skip
"""The newest CPython minor that each PyO3 builds for: ``SUPPORTED_VERSIONS_CPYTHON`` in its
``pyo3-ffi/build.rs`` (before 0.20: its change log)."""


def _parse(text: str | None) -> dict[str, Any]:
    """The content of a file; nothing where there is no file, or it is not TOML."""
    try:
        return dict(msgspec.toml.decode(text or ""))
    except msgspec.DecodeError:
        return {}


def variables(directory: Path, toolchain: Toolchain) -> Mapping[str, str]:
    """Environment variables of a build; ``directory`` keeps what builds share."""
    forced = {VARIABLE: toolchain.name} if toolchain.name else {}
    return {"CARGO_TARGET_DIR": str(_target(directory)), "CARGO_TERM_COLOR": "never", **forced}


def before(source: Path, directory: Path) -> None:
    """Makes sure that the sources will really be compiled."""
    crate = _crate_name(source)
    if crate is None:
        return
    for pattern in ("*/.fingerprint", "*/*/.fingerprint"):
        for fingerprints in _target(directory).glob(pattern):
            for fingerprint in fingerprints.glob(f"{crate}-*"):
                files.remove(fingerprint)


def require_compiled(source: Path, log: Path) -> None:
    """Raises ``HarnessError`` if they were not."""
    crate = _crate_name(source)
    if crate is None:
        return
    if not re.search(rf"Compiling {re.escape(crate)} v", log.read_text("utf-8", "replace")):
        raise HarnessError(
            f"cargo did not recompile {crate}; the log is {log}. "
            f"Delete {source.parent} and try again."
        )


def _target(directory: Path) -> Path:
    return directory / "target"


def _crate_name(source: Path) -> str | None:
    """The name of the source tree's crate; ``None`` where it has none."""
    manifest = source / "Cargo.toml"
    if not manifest.is_file():
        return None
    match = re.search(r'^name\s*=\s*"([^"]+)"', manifest.read_text("utf-8"), re.MULTILINE)
    return match[1] if match else None


VARIABLE = "RUSTUP_TOOLCHAIN"
"""What rustup obeys before any file."""
NONE = "none"

_TIME_LIMIT_S = 60


def choose() -> Toolchain:
    """The one that the user names, or the default one, whatever the sources name.

    Raises ``HarnessError`` with the command that would install the one that the user names.
    """
    flags, wanted = os.environ.get("RUSTFLAGS", ""), os.environ.get(VARIABLE)
    listed = (_run("rustup", *words) or "" for words in (("default",), ("toolchain", "list")))
    # Of rustup's any, where none is the default: else each source tree would have its own. Without
    # rustup there is one, which has no name.
    for name in (wanted,) if wanted else (*(said.split()[0] for said in listed if said), None):
        said = _run("rustc", *([f"+{name}"] if name else []), "--version")
        if said and said.startswith("rustc "):
            return Toolchain(said.strip(), flags, name)
    if wanted:
        raise HarnessError(
            f"There is no Rust toolchain {wanted!r} here. This would install it: rustup toolchain "
            f"install {wanted}"
        )
    return Toolchain(NONE, flags)


def _run(*command: str) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def supports_python(python: Interpreter, read: ReadSource) -> bool:
    """Whether ``requires-python`` and the locked PyO3 allow a Python."""
    project = _parse(read("pyproject.toml")).get("project", {})
    try:
        if python.version not in SpecifierSet(str(project.get("requires-python", ""))):
            return False
    except InvalidSpecifier:
        pass  # the build will say so, with its own words
    for package in _parse(read("Cargo.lock")).get("package", []):
        if package.get("name") == "pyo3":
            major, minor = str(package["version"]).split(".")[:2]
            newest = NEWEST_PYTHON.get((int(major), int(minor)))
            return newest is None or python.minor <= newest
    return True

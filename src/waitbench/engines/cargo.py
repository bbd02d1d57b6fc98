"""Builds with a Rust part, by cargo, such that two revisions never share a binary by accident.

Cargo trusts modification times: with a shared target folder, the second of two commits can come
out as the first one's binary. Dependencies may stay compiled from one build to the next; the
package's own fingerprints are removed before each, and the log must show that it was compiled.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from waitbench.model.environment import Interpreter, Toolchain
from waitbench.model.errors import HarnessError

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
                shutil.rmtree(fingerprint)


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

_VERSION = re.compile(r"rustc (\d+\.\d+\.\d+)\b")
_TIME_LIMIT_S = 60


def choose(sources: Sequence[ReadSource]) -> Toolchain:
    """The newest that is installed, if no source tree asks for a newer one; or that of the user's.

    Raises ``HarnessError`` with the command that would install one.
    """
    flags = os.environ.get("RUSTFLAGS", "")
    wanted = os.environ.get(VARIABLE) or None
    found: Mapping[str | None, str] = {} if wanted else installed()
    # Without rustup there is one, which has no name.
    if not found and (compiler := _ask(wanted)):
        found = {wanted: compiler}
    if wanted and not found:
        raise HarnessError(
            f"There is no Rust toolchain {wanted!r} here. This would install it: rustup toolchain "
            f"install {wanted}"
        )
    if not found:
        return Toolchain(NONE, flags)
    name, compiler = max(found.items(), key=lambda one: version_of(one[1]))
    needed = max(filter(None, map(required, sources)), default=None)
    if not wanted and needed is not None and needed > version_of(compiler):
        remedy = f"rustup toolchain install {needed}" if name else "https://rustup.rs"
        raise HarnessError(
            f"The sources ask for Rust {needed}; the newest here is {compiler}. This would install "
            f"it: {remedy}"
        )
    return Toolchain(compiler, flags, name)


def required(read: ReadSource) -> Version | None:
    """The version that a source tree asks for: the newest that any of its files names."""
    toolchain = read("rust-toolchain.toml") or read("rust-toolchain") or ""
    package = _table(_parse(read("Cargo.toml")), "package")
    channel = str(_table(_parse(toolchain), "toolchain").get("channel", toolchain)).strip()
    named = (_parsed(channel), _parsed(str(package.get("rust-version", ""))))
    return max(filter(None, named), default=None)


def installed() -> Mapping[str | None, str]:
    """What rustup has, without nightlies: what each compiler says of itself, by name."""
    listed = _run("rustup", "toolchain", "list") or ""
    names = [line.split()[0] for line in listed.splitlines() if line.strip()]
    asked = {name: _ask(name) for name in names if not name.startswith(("nightly", "beta"))}
    return {name: compiler for name, compiler in asked.items() if compiler is not None}


def _ask(name: str | None) -> str | None:
    """What a toolchain's compiler says of itself; ``None`` where there is none."""
    said = _run("rustc", *([f"+{name}"] if name else []), "--version")
    return said.strip() if said and _VERSION.match(said) else None


def _run(*command: str) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def version_of(compiler: str) -> Version:
    """The version that a compiler says it is of; 0 where it says none."""
    match = _VERSION.match(compiler)
    return Version(match[1]) if match else Version("0")


def _parsed(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None  # such as "stable"


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


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

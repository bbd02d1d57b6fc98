"""Rules of builds by cargo, so that two revisions never share a binary by accident.

Cargo trusts modification times: in a shared target folder, the second of two commits can get the
binary of the first. So the package's fingerprints are removed before each build, and its log must
show that the package was compiled. Dependencies may stay compiled.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from waitbench.model.errors import HarnessError
from waitbench.model.revision import Interpreter, Toolchain
from waitbench.system import files
from waitbench.system.processes import ask

VARIABLE = "RUSTUP_TOOLCHAIN"
NONE = "none"
"""The compiler in records of machines without Rust."""
NEWEST_PYTHON = {
    (0, 17): (3, 11), (0, 18): (3, 11), (0, 19): (3, 12), (0, 20): (3, 12), (0, 21): (3, 12),
    (0, 22): (3, 13), (0, 23): (3, 13), (0, 24): (3, 13), (0, 25): (3, 14),
}  # fmt: skip
"""The newest CPython by version of PyO3 (``pyo3-ffi/build.rs``, or the change log)."""


def parse_toml(text: str | None) -> dict[str, Any]:
    """Parses a file of a source tree; a missing or damaged file counts as empty."""
    try:
        return files.parse_toml((text or "").encode(), dict[str, Any])
    except ValueError:
        return {}


def variables(directory: Path, toolchain: Toolchain) -> Mapping[str, str]:
    """Returns a build's environment variables. All builds share ``directory``."""
    choice = {VARIABLE: toolchain.name} if toolchain.name else {}
    return {"CARGO_TARGET_DIR": str(directory / "target"), "CARGO_TERM_COLOR": "never", **choice}


def remove_fingerprints(source: Path, directory: Path) -> None:
    """Makes cargo compile the package, even if its sources look older than an earlier binary."""
    crate = _crate_name(source)
    for pattern in ("*/.fingerprint", "*/*/.fingerprint") if crate else ():
        for fingerprint in (directory / "target").glob(f"{pattern}/{crate}-*"):
            files.remove(fingerprint)


def require_compiled(source: Path, log: Path) -> None:
    """Raises ``HarnessError`` if the log does not show that the package was compiled."""
    crate = _crate_name(source)
    compiles = rf"Compiling {re.escape(crate or '')} v"
    if crate and not re.search(compiles, log.read_text("utf-8", "replace")):
        raise HarnessError(
            f"cargo did not recompile {crate}; the log is {log}. "
            f"Delete {source.parent} and try again."
        )


def _crate_name(source: Path) -> str | None:
    manifest = source / "Cargo.toml"
    text = manifest.read_text("utf-8") if manifest.is_file() else None
    name: str | None = parse_toml(text).get("package", {}).get("name")
    return name


def choose_toolchain() -> Toolchain:
    """Chooses a toolchain for all revisions: the user's, or rustup's default, or any.

    Raises ``HarnessError`` if the toolchain of ``RUSTUP_TOOLCHAIN`` is missing.
    """
    flags, requested = os.environ.get("RUSTFLAGS", ""), os.environ.get(VARIABLE)
    outputs = (_run("rustup", *words) for words in (("default",), ("toolchain", "list")))
    installed = [output.split()[0] for output in outputs if output]
    # Without rustup, the only toolchain has no name.
    names: list[str | None] = [requested] if requested else [*installed, None]
    for name in names:
        version = _run("rustc", *([f"+{name}"] if name else []), "--version")
        if version and version.startswith("rustc "):
            return Toolchain(version.strip(), flags, name)
    if requested:
        raise HarnessError(
            f"There is no Rust toolchain {requested!r} here. This would install it: "
            f"rustup toolchain install {requested}"
        )
    return Toolchain(NONE, flags)


def _run(*command: str) -> str | None:
    """Returns a command's output; ``None`` if it fails."""
    try:
        done = ask(command, time_limit_s=60)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def supports_python(python: Interpreter, read: Callable[[str], str | None]) -> bool:
    """Whether sources and their PyO3 support a Python; ``read`` returns a file of the sources."""
    project = parse_toml(read("pyproject.toml")).get("project", {})
    try:
        if python.version not in SpecifierSet(str(project.get("requires-python", ""))):
            return False
    except InvalidSpecifier:
        pass  # the build will explain it
    for package in parse_toml(read("Cargo.lock")).get("package", []):
        if package.get("name") == "pyo3":
            major, minor = str(package["version"]).split(".")[:2]
            newest = NEWEST_PYTHON.get((int(major), int(minor)))
            return newest is None or python.minor <= newest
    return True

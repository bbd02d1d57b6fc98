"""The Rust toolchains of this machine, and the one that all sources of a comparison are built by.

A source tree names its compiler (``rust-toolchain.toml``), and rustup obeys the one it stands in:
two revisions would be built by two compilers, and part of what differs would be theirs.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from packaging.version import InvalidVersion, Version

from waitbench.engines import toml
from waitbench.engines.base import ReadSource
from waitbench.model.environment import Toolchain
from waitbench.model.errors import HarnessError

VARIABLE = "RUSTUP_TOOLCHAIN"
"""What rustup obeys before any file."""
NONE = "none"

_VERSION = re.compile(r"rustc (\d+\.\d+\.\d+)\b")
_TIME_LIMIT_S = 60


def choose(sources: Sequence[ReadSource], wanted: str | None) -> Toolchain:
    """The newest that is installed, if no source tree asks for a newer one; or the one ``wanted``.

    Raises ``HarnessError`` with the command that would install one.
    """
    flags = os.environ.get("RUSTFLAGS", "")
    wanted = wanted or os.environ.get(VARIABLE)
    if wanted:
        compiler = _ask(wanted)
        if compiler is None:
            raise HarnessError(
                f"There is no Rust toolchain {wanted!r} here. This would install it: rustup "
                f"toolchain install {wanted}"
            )
        return Toolchain(compiler, flags, wanted)
    needed = max(filter(None, map(required, sources)), default=None)
    found = installed()
    if not found:
        compiler = _ask(None)
        if compiler is not None and needed is not None and needed > version_of(compiler):
            raise HarnessError(
                f"The sources ask for Rust {needed}, and here is {compiler}, without rustup. "
                "Install a newer one: https://rustup.rs"
            )
        return Toolchain(compiler or NONE, flags)
    name, compiler = max(found.items(), key=lambda one: version_of(one[1]))
    if needed is not None and needed > version_of(compiler):
        raise HarnessError(
            f"The sources ask for Rust {needed}; the newest here is {compiler}. This would install "
            f"it: rustup toolchain install {needed}"
        )
    return Toolchain(compiler, flags, name)


def required(read: ReadSource) -> Version | None:
    """The version that a source tree asks for: the newest that any of its files names."""
    toolchain = read("rust-toolchain.toml") or read("rust-toolchain") or ""
    package = _table(toml.parse(read("Cargo.toml")), "package")
    channel = str(_table(toml.parse(toolchain), "toolchain").get("channel", toolchain)).strip()
    named = (_parsed(channel), _parsed(str(package.get("rust-version", ""))))
    return max(filter(None, named), default=None)


def installed() -> Mapping[str, str]:
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

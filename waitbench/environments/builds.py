"""Sources -> a wheel, so that two revisions never share a binary by accident (trap: cargo trusts modification times).

All source builds of one Python and one compiler take place in one room, one after the other: a folder with the sources
always at the same path and a cargo target folder beside it. Dependencies compile once and stay. bytewax's own fingerprints
are removed before each build and the log must show that cargo compiled it; else the build fails. As the path is
the same for all revisions, equal sources give equal binaries.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from waitbench.environments.interpreters import Interpreter
from waitbench.environments.origins import Recipe
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import PACKAGE, Checkout
from waitbench.model.errors import HarnessError
from waitbench.system.places import Cache
from waitbench.system.processes import run_logged, tail

_HINTS = {
    r"sasl|gssapi": "libsasl2-dev",
    r"openssl|libssl": "libssl-dev pkg-config",
    r"protoc\b|protobuf": "protobuf-compiler",
    r"is `cmake` not installed|cmake.*not found|No such file.*cmake": "cmake",
    r"linker `cc` not found|gcc.*not found|g\+\+.*not found": "build-essential",
    r"Python\.h|python-config": "python3-dev",
}

_COMPLAINT = re.compile(r"error|not found|could not|cannot|no such|panicked|missing|not installed", re.IGNORECASE)
"""Hints look at such lines only: the names of packages are also in what cargo says of those it compiles."""


@dataclass(frozen=True)
class Toolchain:
    """What compiles a source build besides the Python."""

    rustc: str
    """First line of ``rustc --version``, or ``none``."""
    flags: str

    @classmethod
    def here(cls) -> "Toolchain":
        try:
            asked = subprocess.run(["rustc", "--version"], capture_output=True, text=True, timeout=60, check=False)
            version = asked.stdout.strip() or "none"
        except FileNotFoundError:
            version = "none"
        return cls(version, os.environ.get("RUSTFLAGS", ""))


def build_wheel(
    recipe: Recipe, toolchain: Toolchain, repository: Repository, cache: Cache, log: Path, say: Callable[[str], None]
) -> Path:
    """Builds a revision's wheel, or finds the one built before. Raises ``HarnessError``."""
    room = _room(recipe.python, toolchain, cache)
    wheels = cache.folder("wheels") / f"{room.name}-{recipe.revision.source.identity}"
    with FileLock(cache.lock_file(f"build-{room.name}")):
        built = sorted(wheels.glob("*.whl"))
        if built:
            return built[0]
        say("building from source" if (room / "target").exists() else "building from source; the first takes minutes")
        _lay_out(recipe, repository, room / "source")
        crate = _crate_name(room / "source")
        if crate:
            _forget(crate, room / "target")
        wheel = _pip_wheel(_build_python(recipe.python, room, log), room, log)
        if crate and not re.search(rf"Compiling {re.escape(crate)} v", log.read_text("utf-8", "replace")):
            raise HarnessError(f"cargo did not recompile {crate}; the log is {log}. Delete {room} and try again.")
        wheels.mkdir(exist_ok=True)
        return wheel.replace(wheels / wheel.name)


def _hint(log: Path) -> str:
    complaints = (line for line in tail(log, 200).splitlines() if _COMPLAINT.search(line))
    text = "\n".join(complaints)
    for program in ("cargo", "rustc"):
        if re.search(rf"{program}, the Rust .*is not installed|{program}.*not found|No such file.*{program}", text):
            return "\nHint: building bytewax takes a Rust toolchain: https://rustup.rs"
    packages = [names for pattern, names in _HINTS.items() if re.search(pattern, text, re.IGNORECASE)]
    return f"\nHint: a system package may be missing: apt-get install {' '.join(packages)}" if packages else ""


def _room(python: Interpreter, toolchain: Toolchain, cache: Cache) -> Path:
    text = f"{python.executable}\0{python.version}\0{toolchain.rustc}\0{toolchain.flags}"
    room = (
        cache.folder("builds") / f"cp{python.minor_text.replace('.', '')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    )
    room.mkdir(exist_ok=True)
    return room


def _lay_out(recipe: Recipe, repository: Repository, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    source = recipe.revision.source
    if isinstance(source, Checkout):
        for name in source.files:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source.folder / name, target / name)
    else:
        assert recipe.commit is not None, "what is built from the repository has a commit"
        repository.export(recipe.commit, target)


def _crate_name(source: Path) -> str | None:
    manifest = source / "Cargo.toml"
    if not manifest.is_file():
        return None
    match = re.search(r'^name\s*=\s*"([^"]+)"', manifest.read_text("utf-8"), re.MULTILINE)
    return match[1] if match else PACKAGE


def _forget(crate: str, target: Path) -> None:
    """Removes cargo's fingerprints of one crate: without them it counts as never compiled."""
    for pattern in ("*/.fingerprint", "*/*/.fingerprint"):
        for fingerprints in target.glob(pattern):
            for fingerprint in fingerprints.glob(f"{crate}-*"):
                shutil.rmtree(fingerprint)


def _build_python(python: Interpreter, room: Path, log: Path) -> Path:
    """The room's own virtualenv: PyO3 recompiles when the path of its Python changes, so it is one for all revisions."""
    executable = room / "venv" / "bin" / "python"
    if not (room / "venv" / "complete").exists():
        shutil.rmtree(room / "venv", ignore_errors=True)
        run_logged([sys.executable, "-m", "virtualenv", "--python", python.executable, str(room / "venv")], log)
        (room / "venv" / "complete").touch()
    return executable


def _pip_wheel(python: Path, room: Path, log: Path) -> Path:
    output = room / "output"
    shutil.rmtree(output, ignore_errors=True)
    run_logged(
        [str(python), "-m", "pip", "wheel", "--verbose", "--no-deps", "--no-cache-dir", "--wheel-dir", str(output), "."],
        log,
        env={**os.environ, "CARGO_TARGET_DIR": str(room / "target"), "CARGO_TERM_COLOR": "never"},
        cwd=room / "source",
        hint=_hint,
    )
    wheels = sorted(output.glob("*.whl"))
    if not wheels:
        raise HarnessError(f"The build ended without a wheel; the log is {log}.")
    return wheels[0]

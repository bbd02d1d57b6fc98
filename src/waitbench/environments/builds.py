"""Sources -> a wheel.

All source builds of one Python and one compiler take place in one build directory, one after the
other: the sources always at the same path, and what builds share beside them. So dependencies
compile once, and equal sources give equal binaries; that unequal ones never do is the engine's
builder's business.
"""

import hashlib
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from waitbench.engines.base import Builder
from waitbench.environments.repository import Repository
from waitbench.environments.sources import lay_out, lay_out_own
from waitbench.model.environment import EnvironmentSpec, Interpreter, Origin, Toolchain
from waitbench.model.errors import HarnessError
from waitbench.model.revision import Checkout
from waitbench.system import files
from waitbench.system.locks import locked
from waitbench.system.places import Cache
from waitbench.system.processes import BUILD_S, INSTALL_S, run_logged


@dataclass(frozen=True, kw_only=True)
class WheelBuilder:
    """What builds an engine's sources."""

    builder: Builder
    toolchain: Toolchain
    repository: Repository | None
    """Where commits are; ``None`` for an engine that has none."""
    cache: Cache
    limit_s: float | None = None
    """What any step may take, instead of what fits it."""

    def build_wheel(self, spec: EnvironmentSpec, log: Path, say: Callable[[str], None]) -> Path:
        """Builds a revision's wheel, or finds the one built before. Raises ``HarnessError``."""
        directory = self._build_directory(spec.python)
        kept = self.cache.folder("wheels") / f"{directory.name}-{spec.identity}"
        with locked(self.cache.lock_file(f"build-{directory.name}"), say):
            built = find(kept)
            if built is not None:
                return built
            first = not (directory / "output").exists()
            say("building from source" + "; the first takes minutes" * first)
            source = directory / "source"
            self._lay_out(spec, source)
            self.builder.before(source, directory)
            limit_s = self.limit_s or INSTALL_S
            python = _build_python(spec.python, directory, log, limit_s)
            wheel = self._pip_wheel(python, directory, log)
            self.builder.after(source, directory, self.toolchain, log)
            return keep(wheel, kept)

    def _build_directory(self, python: Interpreter) -> Path:
        toolchain = self.toolchain
        text = "\0".join((python.executable, python.version, toolchain.compiler, toolchain.flags))
        name = f"{python.tag}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        return self.cache.folder(f"builds/{name}")

    def _lay_out(self, spec: EnvironmentSpec, target: Path) -> None:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        source = spec.revision.source
        if isinstance(source, Checkout):
            lay_out(source, target)
        elif spec.origin is Origin.OURS:
            lay_out_own(spec.revision, target)
        else:
            assert self.repository is not None, "only engines with a repository have commits"
            assert spec.commit is not None, "what is built from the repository has a commit"
            self.repository.export(spec.commit, target)

    def _pip_wheel(self, python: Path, directory: Path, log: Path) -> Path:
        output = directory / "output"
        shutil.rmtree(output, ignore_errors=True)
        options = ("--verbose", "--no-deps", "--no-cache-dir", "--disable-pip-version-check")
        run_logged(
            [str(python), "-m", "pip", "wheel", *options, "--wheel-dir", str(output), "."],
            log,
            time_limit_s=self.limit_s or BUILD_S,
            more_variables=self.builder.variables(directory, self.toolchain),
            cwd=directory / "source",
            hint=self.builder.hint,
        )
        wheels = sorted(output.glob("*.whl"))
        if not wheels:
            raise HarnessError(f"The build ended without a wheel; the log is {log}.")
        return wheels[0]


def _build_python(python: Interpreter, directory: Path, log: Path, limit_s: float) -> Path:
    """The build directory's own virtualenv.

    PyO3 recompiles when the path of its Python changes, so it is one for all revisions.
    """
    folder = directory / "venv"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv = [sys.executable, "-m", "virtualenv", "--python", python.executable, str(folder)]
        run_logged(venv, log, time_limit_s=limit_s)
        (folder / "complete").touch()
    return folder / "bin" / "python"


def find(folder: Path) -> Path | None:
    """The wheel that a folder keeps, if it is what was put there; a damaged one is removed."""
    for wheel in sorted(folder.glob("*.whl")):
        digest_file = _digest_file(wheel)
        if digest_file.is_file() and digest_file.read_text("ascii", "replace") == _digest(wheel):
            return wheel
        wheel.unlink(missing_ok=True)
        digest_file.unlink(missing_ok=True)
    return None


def keep(wheel: Path, folder: Path) -> Path:
    """Moves a wheel into a folder, the digest first. Raises ``HarnessError``."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / wheel.name
    files.write_text(_digest_file(kept), _digest(wheel))
    return wheel.replace(kept)


def _digest(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def _digest_file(wheel: Path) -> Path:
    return wheel.with_name(f"{wheel.name}.sha256")

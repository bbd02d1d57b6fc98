"""Sources -> a wheel.

All source builds of one Python and one compiler take place in one build directory, one after the
other: the sources always at the same path, and what builds share beside them. So dependencies
compile once, and equal sources give equal binaries; that unequal ones never do is the engine's
builder's business.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from waitbench.engines.base import Builder
from waitbench.environments.repository import Repository
from waitbench.model.environment import EnvironmentSpec, Interpreter, Toolchain
from waitbench.model.errors import HarnessError
from waitbench.model.revision import Checkout
from waitbench.system.places import Cache
from waitbench.system.processes import run_logged


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """What builds an engine's sources."""

    builder: Builder
    toolchain: Toolchain
    repository: Repository
    cache: Cache

    def build_wheel(self, spec: EnvironmentSpec, log: Path, say: Callable[[str], None]) -> Path:
        """Builds a revision's wheel, or finds the one built before. Raises ``HarnessError``."""
        directory = self._build_directory(spec.python)
        kept = self.cache.folder("wheels") / f"{directory.name}-{spec.revision.source.identity}"
        with FileLock(self.cache.lock_file(f"build-{directory.name}")):
            built = sorted(kept.glob("*.whl"))
            if built:
                return built[0]
            first = not (directory / "output").exists()
            say("building from source" + "; the first takes minutes" * first)
            source = directory / "source"
            self._lay_out(spec, source)
            self.builder.before(source, directory)
            wheel = self._pip_wheel(_build_python(spec.python, directory, log), directory, log)
            self.builder.after(source, log)
            kept.mkdir(exist_ok=True)
            return wheel.replace(kept / wheel.name)

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
            for name in source.files:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source.folder / name, target / name)
        else:
            assert spec.commit is not None, "what is built from the repository has a commit"
            self.repository.export(spec.commit, target)

    def _pip_wheel(self, python: Path, directory: Path, log: Path) -> Path:
        output = directory / "output"
        shutil.rmtree(output, ignore_errors=True)
        options = ("--verbose", "--no-deps", "--no-cache-dir", "--wheel-dir", str(output))
        run_logged(
            [str(python), "-m", "pip", "wheel", *options, "."],
            log,
            env={**os.environ, **self.builder.variables(directory)},
            cwd=directory / "source",
            hint=self.builder.hint,
        )
        wheels = sorted(output.glob("*.whl"))
        if not wheels:
            raise HarnessError(f"The build ended without a wheel; the log is {log}.")
        return wheels[0]


def _build_python(python: Interpreter, directory: Path, log: Path) -> Path:
    """The build directory's own virtualenv.

    PyO3 recompiles when the path of its Python changes, so it is one for all revisions.
    """
    folder = directory / "venv"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run_logged(
            [sys.executable, "-m", "virtualenv", "--python", python.executable, str(folder)], log
        )
        (folder / "complete").touch()
    return folder / "bin" / "python"

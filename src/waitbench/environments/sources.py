"""The sources of a revision, which are in git; and the wheels that are built of them."""

import hashlib
import shutil
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from waitbench.engines.base import Builder, Engine, ReadSource
from waitbench.environments.repository import Repository
from waitbench.model.environment import EnvironmentSpec, Interpreter, Toolchain
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import Checkout, Commit, Release, Revision
from waitbench.system.locks import locked
from waitbench.system.places import Cache
from waitbench.system.processes import BUILD_S, INSTALL_S, run_logged


def commit_of(source: Release | Commit, engine: Engine, repository: Repository) -> str:
    """The full id of a commit, or of a release's tag. Raises ``UsageError`` if there is none."""
    if isinstance(source, Commit):
        return source.commit
    tag = engine.tag_of(source.version)
    commit = repository.find_commit(tag)
    if commit is None:
        raise UsageError(
            f"{repository.location} has no tag for release {source.version}, such as {tag}. Where "
            "a clone lacks its tags, git fetch --tags brings them."
        )
    return commit


def sources_of(
    revision: Revision, commit: str | None, repositories: Mapping[str, Repository]
) -> tuple[Repository, str]:
    """Where a revision's sources are in git: in which repository, and under which id."""
    repository, source = repositories[revision.engine], revision.source
    if isinstance(source, Checkout):
        return Repository(str(source.folder), repository.cache), source.tree
    assert commit is not None, "what is built from the repository has a commit"
    return repository, commit


def reader_of(
    revision: Revision, commit: str | None, repositories: Mapping[str, Repository]
) -> ReadSource:
    """What reads one file of a revision's sources."""
    repository, tree = sources_of(revision, commit, repositories)
    return partial(repository.read_file, tree)


@dataclass(frozen=True, kw_only=True)
class WheelBuilder:
    """What makes wheels of an engine's sources.

    All source builds of one Python and one compiler take place in one build directory, one after
    the other: the sources always at the same path, and what builds share beside them. So
    dependencies compile once, and equal sources give equal binaries; that unequal ones never do is
    the engine's builder's business.
    """

    builder: Builder
    toolchain: Toolchain
    repositories: Mapping[str, Repository]
    cache: Cache
    limit_s: float | None = None
    """What any step may take, instead of what fits it."""

    def build_wheel(self, spec: EnvironmentSpec, log: Path, say: Callable[[str], None]) -> Path:
        """Builds a revision's wheel, or finds the one built before. Raises ``HarnessError``."""
        directory = self._build_directory(spec.python)
        kept = self.cache.folder("wheels") / f"{directory.name}-{spec.identity}"
        with locked(self.cache.lock_file(f"build-{directory.name}"), say):
            built = find_wheel(kept)
            if built is not None:
                return built
            first = not (directory / "output").exists()
            say("building from source" + "; the first takes minutes" * first)
            source = directory / "source"
            shutil.rmtree(source, ignore_errors=True)
            source.mkdir()
            repository, tree = sources_of(spec.revision, spec.commit, self.repositories)
            repository.export(tree, source)
            self.builder.before(source, directory)
            limit_s = self.limit_s or INSTALL_S
            python = _build_python(spec.python, directory, log, limit_s)
            wheel = self._pip_wheel(python, directory, log)
            self.builder.after(source, directory, self.toolchain, log)
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir()
            return wheel.replace(kept / wheel.name)

    def _build_directory(self, python: Interpreter) -> Path:
        toolchain = self.toolchain
        text = "\0".join((python.executable, python.version, toolchain.compiler, toolchain.flags))
        name = f"{python.tag}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        return self.cache.folder(f"builds/{name}")

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


def find_wheel(folder: Path) -> Path | None:
    """The wheel that a folder has, if it is whole."""
    return next(filter(is_whole, folder.glob("*.whl")), None)


def is_whole(wheel: Path) -> bool:
    """Whether all of a wheel's files can be read."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            has_metadata = any(name.endswith(".dist-info/METADATA") for name in names)
            return has_metadata and archive.testzip() is None
    except (OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error):
        return False

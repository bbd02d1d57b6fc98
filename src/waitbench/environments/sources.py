"""The files of a revision, of a folder as it is now or of a commit; and the wheels made of them."""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from waitbench.engines.base import Builder, Engine, ReadSource
from waitbench.environments.repository import Repository, git
from waitbench.model.environment import EnvironmentSpec, Interpreter, Toolchain
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import Checkout, Commit, Release, Revision
from waitbench.system import files
from waitbench.system.locks import locked
from waitbench.system.places import Cache
from waitbench.system.processes import BUILD_S, INSTALL_S, run_logged

_NOT_SOURCES = {".git", "target", "__pycache__", ".venv"}
_SUBMODULE = "160000 "
"""How git lists a submodule in its index."""


def files_of(folder: Path) -> list[str]:
    """The names of a checkout's files: what git knows and does not ignore, submodules included.

    Links to folders are among them. Raises ``UsageError`` for one that leads out of the checkout:
    nobody could tell whether what is there has changed.
    """
    names = sorted(name for name in _listed(folder) if os.path.lexists(folder / name))
    for name in names:
        path = folder / name
        if path.is_symlink() and path.is_dir() and not _is_within(path, folder):
            raise UsageError(
                f"{name!r} in {str(folder)!r} is a link to a folder outside of it. Build from a "
                "commit, or copy the folder into the checkout."
            )
    return [name for name in names if (folder / name).is_symlink() or (folder / name).is_file()]


def fingerprint(folder: Path, names: Iterable[str]) -> str:
    """The SHA-256 over names and contents."""
    digest = hashlib.sha256()
    for name in names:
        path = folder / name
        is_link = path.is_symlink() and not path.is_file()
        content = os.fsencode(path.readlink()) if is_link else path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def lay_out(checkout: Checkout, target: Path) -> None:
    """Copies a checkout's files. Raises ``HarnessError`` if they are not what they were."""
    for name in checkout.files:
        path, copy = checkout.folder / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            if path.is_symlink() and not path.is_file():
                copy.symlink_to(path.readlink())
            else:
                shutil.copy(path, copy)
        except FileNotFoundError as error:
            raise HarnessError(f"{path} has gone while it was to be built.") from error
    if fingerprint(target, checkout.files) != checkout.fingerprint:
        raise HarnessError(
            f"{checkout.folder} was changed between being looked at and being built. Let it be, "
            "and repeat the command."
        )


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


def reader_of(
    revision: Revision, commit: str | None, repositories: Mapping[str, Repository]
) -> ReadSource:
    """What reads one file of a revision's sources."""
    source = revision.source
    if isinstance(source, Checkout):
        return partial(_read_in, source.folder)
    return partial(repositories[revision.engine].read_file, commit or "")


def _read_in(folder: Path, name: str) -> str | None:
    path = folder / name
    return path.read_text("utf-8", "replace") if path.is_file() else None


def _listed(folder: Path) -> list[str]:
    options = ("--cached", "--others", "--exclude-standard", "--deduplicate")
    listed = git(folder, "ls-files", "-z", *options, ".")
    if listed is None:
        paths = (
            p for p in folder.rglob("*") if not _NOT_SOURCES & set(p.relative_to(folder).parts)
        )
        return [str(path.relative_to(folder)) for path in paths]
    names = [name for name in listed.split("\0") if name]
    staged = git(folder, "ls-files", "-z", "--stage", ".") or ""
    for entry in staged.split("\0"):
        if entry.startswith(_SUBMODULE):
            submodule = entry.partition("\t")[2]
            names.remove(submodule)
            if (folder / submodule / ".git").exists():
                names += [f"{submodule}/{name}" for name in _listed(folder / submodule)]
            else:
                raise UsageError(
                    f"The submodule {submodule!r} of {str(folder)!r} is empty. Fill it: git "
                    "submodule update --init --recursive"
                )
    return names


def _is_within(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


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
            built = find_wheel(kept)
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
            return keep_wheel(wheel, kept)

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


def find_wheel(folder: Path) -> Path | None:
    """The wheel that a folder keeps, if it is what was put there; a damaged one is removed."""
    for wheel in sorted(folder.glob("*.whl")):
        digest_file = _digest_file(wheel)
        if digest_file.is_file() and digest_file.read_text("ascii", "replace") == _digest(wheel):
            return wheel
        wheel.unlink(missing_ok=True)
        digest_file.unlink(missing_ok=True)
    return None


def keep_wheel(wheel: Path, folder: Path) -> Path:
    """Moves a wheel into a folder, the digest first. Raises ``HarnessError``."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / wheel.name
    files.write_text(_digest_file(kept), _digest(wheel))
    return wheel.replace(kept)


def _digest(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def _digest_file(wheel: Path) -> Path:
    return wheel.with_name(f"{wheel.name}.sha256")

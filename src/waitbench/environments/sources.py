"""The files of a revision: of a folder as it is now, or of a commit."""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from waitbench import engines
from waitbench.engines.base import Engine, ReadSource
from waitbench.environments.repository import Repository, git
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import Checkout, Commit, Release, Revision

_NOT_SOURCES = {".git", "target", "__pycache__", ".venv"}
_VERSION = b"@VERSION@"
"""What stands for the version in sources of ours."""
_DIGEST = b"@SOURCES@"
"""What stands in them for their own digest."""
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
    if engines.named(revision.engine).own_sources is not None:
        own = {name: content.decode("utf-8", "replace") for name, content in _own_files(revision)}
        return own.get
    return partial(repositories[revision.engine].read_file, commit or "")


def lay_out_own(revision: Revision, target: Path) -> None:
    """Writes the sources that we have of an engine, for a revision's version."""
    digest = own_fingerprint(revision).encode()
    for name, content in _own_files(revision):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.replace(_DIGEST, digest))


def own_fingerprint(revision: Revision) -> str:
    """The SHA-256 over names and contents of what ``lay_out_own`` writes, but for itself in it."""
    digest = hashlib.sha256()
    for name, content in _own_files(revision):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _own_files(revision: Revision) -> Iterator[tuple[str, bytes]]:
    folder, source = engines.named(revision.engine).own_sources, revision.source
    assert folder is not None, "asked only of engines that have any"
    assert isinstance(source, Release), "nothing else of such an engine can be named"
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        if not _NOT_SOURCES & set(path.relative_to(folder).parts):
            yield name, path.read_bytes().replace(_VERSION, source.version.encode())


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

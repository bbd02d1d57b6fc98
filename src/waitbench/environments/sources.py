"""The sources of a revision, which are in git; and the wheels that were built of them."""

import zipfile
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from waitbench.engines.base import Engine
from waitbench.engines.cargo import ReadSource
from waitbench.environments.repository import Repository
from waitbench.model.errors import UsageError
from waitbench.model.revision import Checkout, Commit, Release, Revision


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

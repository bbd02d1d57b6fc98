"""The sources of a revision, which are in git; and the wheels that were built of them."""

import zipfile
import zlib
from functools import partial
from pathlib import Path

from waitbench.engines.cargo import ReadSource
from waitbench.environments.repository import Repository, checkouts
from waitbench.model.environment import EnvironmentSpec
from waitbench.model.revision import Checkout


def sources_of(spec: EnvironmentSpec, repository: Repository | None) -> tuple[Repository, str]:
    """Where the sources of a build are in git: in which repository, and under which id."""
    assert repository is not None, "where there is none, nothing is built"
    source = spec.revision.source
    if isinstance(source, Checkout):
        return checkouts(repository.cache), source.tree
    return repository, str(spec.commit)


def reader_of(spec: EnvironmentSpec, repository: Repository | None) -> ReadSource:
    """What reads one file of the sources of a build."""
    sources, tree = sources_of(spec, repository)
    return partial(sources.read_file, tree)


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

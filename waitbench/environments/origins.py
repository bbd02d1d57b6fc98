"""Revisions -> Recipes: one interpreter and one origin for all of a comparison (rules 1 and 2 of a valid one).

A wheel of the package index and a build made here come from different compilers and settings, so a comparison across the
two says nothing about the code. Wheels are used when every revision has one for a common Python; else all are built here.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from waitbench.environments.index import Index
from waitbench.environments.interpreters import Interpreter, find, installed, newest_shared
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import Checkout, Commit, Release, Revision, WheelFile
from waitbench.model.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NEWEST_PYTHON_OF_PYO3 = {
    (0, 17): (3, 11), (0, 18): (3, 11), (0, 19): (3, 12), (0, 20): (3, 12), (0, 21): (3, 12),
    (0, 22): (3, 13), (0, 23): (3, 13), (0, 24): (3, 13), (0, 25): (3, 14),
}  # fmt: skip
"""The newest CPython minor that each PyO3 builds for: ``SUPPORTED_VERSIONS_CPYTHON`` in its ``pyo3-ffi/build.rs``
(before 0.20: its change log)."""


class Origin(str, Enum):
    """Where a revision's code comes from."""

    WHEEL = "wheel"
    """A wheel of the package index."""
    SOURCE = "source"
    """The repository, built here."""
    CHECKOUT = "checkout"
    """A folder, built here."""
    FILE = "file"
    """A wheel on disk."""


class OriginChoice(str, Enum):
    """What ``--origin`` takes."""

    AUTO = "auto"
    WHEEL = "wheel"
    SOURCE = "source"
    MIXED = "mixed"


@dataclass(frozen=True)
class Recipe:
    """All that determines one environment."""

    revision: Revision
    origin: Origin
    python: Interpreter
    commit: str | None
    """Full id, where the code comes from git."""
    wheel: Path | None
    """The wheel to install, where there is one already."""


@dataclass(frozen=True)
class _Candidate:
    """A revision with the origin it would have."""

    revision: Revision
    origin: Origin
    commit: str | None = None


def choose(
    revisions: Sequence[Revision],
    choice: OriginChoice,
    python_request: str | None,
    repository: Repository,
    index: Index,
) -> tuple[Recipe, ...]:
    """Decides interpreter and origin for each revision. Raises ``UsageError`` where no valid choice exists."""
    pythons = (find(python_request, index.cache),) if python_request else installed(index.cache)
    if not pythons:
        raise UsageError("No CPython ≥ 3.9 is installed here. Install one (pyenv, uv, apt), or name it with --python.")
    candidates = _candidates(revisions, choice, repository)
    python = _shared(candidates, pythons, repository, index)
    if python is None and choice is OriginChoice.AUTO and all(c.origin is Origin.WHEEL for c in candidates):
        candidates = tuple(_from_source(revision, repository) for revision in revisions)
        python = _shared(candidates, pythons, repository, index)
    if python is None:
        raise UsageError(_why_no_python(candidates, pythons, repository, index))
    return tuple(_recipe(candidate, python, index) for candidate in candidates)


def is_mixed(recipes: Sequence[Recipe]) -> bool:
    """Whether a comparison mixes code of different compilers."""
    return len({_built_by(recipe.origin) for recipe in recipes}) > 1


def _built_by(origin: Origin) -> str:
    return "here" if origin in (Origin.SOURCE, Origin.CHECKOUT) else origin.value


def _candidates(revisions: Sequence[Revision], choice: OriginChoice, repository: Repository) -> tuple[_Candidate, ...]:
    """The origin that ``choice`` asks for, for each revision. Raises ``UsageError`` where one cannot have it."""
    files = [r for r in revisions if isinstance(r.source, WheelFile)]
    unreleased = [r for r in revisions if isinstance(r.source, (Commit, Checkout))]
    if choice is OriginChoice.WHEEL and unreleased:
        raise UsageError(f"--origin wheel: {unreleased[0].label} is no release, so no index has a wheel of it.")
    if choice is OriginChoice.SOURCE and files:
        raise UsageError(f"--origin source: {files[0].label} is a wheel file; it cannot be built from source.")
    if files and len(files) < len(revisions) and choice is not OriginChoice.MIXED:
        raise UsageError(
            f"{files[0].label} is a wheel file and {next(r.label for r in revisions if r not in files)} is not: their "
            "compilers may differ, and with them the figures. To compare them all the same, add --origin mixed."
        )
    if choice is OriginChoice.SOURCE or (choice is OriginChoice.AUTO and unreleased):
        return tuple(_from_source(revision, repository) for revision in revisions)
    return tuple(_naturally(revision, repository) for revision in revisions)


def _naturally(revision: Revision, repository: Repository) -> _Candidate:
    if isinstance(revision.source, WheelFile):
        return _Candidate(revision, Origin.FILE)
    if isinstance(revision.source, Release):
        return _Candidate(revision, Origin.WHEEL)
    return _from_source(revision, repository)


def _from_source(revision: Revision, repository: Repository) -> _Candidate:
    source = revision.source
    if isinstance(source, Checkout):
        return _Candidate(revision, Origin.CHECKOUT, source.commit)
    if isinstance(source, Commit):
        return _Candidate(revision, Origin.SOURCE, source.commit)
    assert isinstance(source, Release), "wheel files are never built"
    commit = repository.find_commit(f"v{source.version}")
    if commit is None:
        raise UsageError(f"{repository.location} has no tag for release {source.version}.")
    return _Candidate(revision, Origin.SOURCE, commit)


def _recipe(candidate: _Candidate, python: Interpreter, index: Index) -> Recipe:
    source = candidate.revision.source
    wheel = None
    if isinstance(source, WheelFile):
        wheel = source.path
    elif isinstance(source, Release) and candidate.origin is Origin.WHEEL:
        wheel = index.wheel(source.version, python)
    return Recipe(candidate.revision, candidate.origin, python, candidate.commit, wheel)


def _shared(
    candidates: Sequence[_Candidate], pythons: Sequence[Interpreter], repository: Repository, index: Index
) -> Interpreter | None:
    return newest_shared(pythons, [partial(_fits, repository=repository, index=index, candidate=c) for c in candidates])


def _fits(python: Interpreter, *, candidate: _Candidate, repository: Repository, index: Index) -> bool:
    """Whether a revision, with its origin, runs on a Python."""
    source = candidate.revision.source
    if isinstance(source, WheelFile):
        return _wheel_fits(source.path, python)
    if isinstance(source, Release) and candidate.origin is Origin.WHEEL:
        return index.wheel(source.version, python) is not None
    return _sources_fit(candidate, python, repository)


def _wheel_fits(path: Path, python: Interpreter) -> bool:
    _, _, _, tags = parse_wheel_filename(path.name)
    abi = f"cp{python.minor[0]}{python.minor[1]}"
    usable = {*cpython_tags(python.minor, [abi, "abi3", "none"]), *compatible_tags(python.minor, abi)}
    return not usable.isdisjoint(tags)


def _sources_fit(candidate: _Candidate, python: Interpreter, repository: Repository) -> bool:
    project = _read_toml(candidate, "pyproject.toml", repository).get("project", {})
    try:
        if python.version not in SpecifierSet(str(project.get("requires-python", ""))):
            return False
    except InvalidSpecifier:
        pass  # the build will say so, with its own words
    for package in _read_toml(candidate, "Cargo.lock", repository).get("package", []):
        if package.get("name") == "pyo3":
            major, minor = str(package["version"]).split(".")[:2]
            newest = NEWEST_PYTHON_OF_PYO3.get((int(major), int(minor)))
            return newest is None or python.minor <= newest
    return True


def _read_toml(candidate: _Candidate, name: str, repository: Repository) -> dict[str, Any]:
    source = candidate.revision.source
    if isinstance(source, Checkout):
        path = source.folder / name
        text = path.read_text("utf-8") if path.is_file() else None
    else:
        text = repository.read_file(candidate.commit or "", name)
    try:
        return dict(tomllib.loads(text or ""))
    except tomllib.TOMLDecodeError:
        return {}


def _why_no_python(
    candidates: Sequence[_Candidate], pythons: Sequence[Interpreter], repository: Repository, index: Index
) -> str:
    lines = []
    for candidate in candidates:
        fits = [
            python.minor_text
            for python in pythons
            if _fits(python, candidate=candidate, repository=repository, index=index)
        ]
        lines.append(f"  {candidate.revision.label} ({candidate.origin.value}): {', '.join(fits) or 'none'}")
    names = ", ".join(python.minor_text for python in pythons)
    return (
        f"No Python here fits every revision. Of {names} these do:\n" + "\n".join(lines) + "\n"
        "Install another Python, choose another --python or --origin, or leave a revision out."
    )

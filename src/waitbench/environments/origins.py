"""Revisions -> EnvironmentSpecs: one interpreter and one origin for all of them (rules 1 and 2).

A wheel of the package index and a build made here come from different compilers and settings, so a
comparison across the two says nothing about the code. Wheels are used when every revision has one
for a common Python; else all are built here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from waitbench.engines.base import Engine
from waitbench.environments.index import Index
from waitbench.environments.interpreters import find, installed, newest_shared
from waitbench.environments.repository import Repository
from waitbench.environments.sources import commit_of, read_source
from waitbench.model.environment import EnvironmentSpec, Interpreter, Origin, OriginChoice
from waitbench.model.errors import UsageError
from waitbench.model.revision import Checkout, Commit, Release, Revision, WheelFile
from waitbench.system.places import Cache


@dataclass(frozen=True)
class _Candidate:
    """A revision with the origin it would have."""

    revision: Revision
    origin: Origin
    commit: str | None = None


@dataclass(frozen=True)
class Chooser:
    """What a choice is made from."""

    engine: Engine
    repository: Repository
    cache: Cache

    @property
    def _index(self) -> Index:
        return Index(self.engine.package, self.cache)

    def choose(
        self, revisions: Sequence[Revision], choice: OriginChoice, python_request: str | None
    ) -> tuple[EnvironmentSpec, ...]:
        """Decides interpreter and origin of each. Raises ``UsageError`` if none is valid."""
        pythons = (find(python_request, self.cache),) if python_request else installed(self.cache)
        if not pythons:
            raise UsageError(
                "No CPython ≥ 3.9 is installed here. Install one (pyenv, uv, apt), or name it with "
                "--python."
            )
        candidates = self._candidates(revisions, choice)
        python = self._shared(candidates, pythons)
        all_wheels = all(candidate.origin is Origin.WHEEL for candidate in candidates)
        if python is None and choice is OriginChoice.AUTO and all_wheels:
            candidates = tuple(map(self._from_source, revisions))
            python = self._shared(candidates, pythons)
        if python is None:
            raise UsageError(self._why_no_python(candidates, pythons))
        return tuple(self._spec(candidate, python) for candidate in candidates)

    def _candidates(
        self, revisions: Sequence[Revision], choice: OriginChoice
    ) -> tuple[_Candidate, ...]:
        """The origin that ``choice`` asks for, for each revision. Raises ``UsageError``."""
        files = [r for r in revisions if isinstance(r.source, WheelFile)]
        unreleased = [r for r in revisions if isinstance(r.source, (Commit, Checkout))]
        if choice is OriginChoice.WHEEL and unreleased:
            raise UsageError(
                f"--origin wheel: {unreleased[0].label} is not a release, so no index has a wheel "
                "of it."
            )
        if choice is OriginChoice.SOURCE and files:
            raise UsageError(
                f"--origin source: {files[0].label} is a wheel file, which cannot be built from "
                "source."
            )
        if files and len(files) < len(revisions) and choice is not OriginChoice.MIXED:
            other = next(revision.label for revision in revisions if revision not in files)
            raise UsageError(
                f"{files[0].label} is a wheel file and {other} is not: their compilers may differ, "
                "and with them the figures. To compare them all the same, add --origin mixed."
            )
        if choice is OriginChoice.SOURCE or (choice is OriginChoice.AUTO and unreleased):
            return tuple(map(self._from_source, revisions))
        return tuple(map(self._naturally, revisions))

    def _naturally(self, revision: Revision) -> _Candidate:
        if isinstance(revision.source, WheelFile):
            return _Candidate(revision, Origin.FILE)
        if isinstance(revision.source, Release):
            return _Candidate(revision, Origin.WHEEL)
        return self._from_source(revision)

    def _from_source(self, revision: Revision) -> _Candidate:
        source = revision.source
        if isinstance(source, Checkout):
            return _Candidate(revision, Origin.CHECKOUT, source.commit)
        assert not isinstance(source, WheelFile), "wheel files are never built"
        commit = commit_of(source, self.engine, self.repository)
        return _Candidate(revision, Origin.SOURCE, commit)

    def _spec(self, candidate: _Candidate, python: Interpreter) -> EnvironmentSpec:
        source, commit = candidate.revision.source, candidate.commit
        wheel = None
        if isinstance(source, WheelFile):
            wheel = source.path
        elif isinstance(source, Release) and candidate.origin is Origin.WHEEL:
            wheel = self._index.wheel(source.version, python)
        in_repository = candidate.origin is Origin.SOURCE and commit is not None
        return EnvironmentSpec(
            revision=candidate.revision,
            origin=candidate.origin,
            python=python,
            commit=commit,
            commit_date=self.repository.date_of(commit or "") if in_repository else None,
            wheel=wheel,
        )

    def _shared(
        self, candidates: Sequence[_Candidate], pythons: Sequence[Interpreter]
    ) -> Interpreter | None:
        return newest_shared(pythons, [partial(self._fits, candidate) for candidate in candidates])

    def _fits(self, candidate: _Candidate, python: Interpreter) -> bool:
        """Whether a revision, with its origin, runs on a Python."""
        source = candidate.revision.source
        if isinstance(source, WheelFile):
            return _wheel_fits(source.path, python)
        if isinstance(source, Release) and candidate.origin is Origin.WHEEL:
            return self._index.wheel(source.version, python) is not None
        read = partial(read_source, source, candidate.commit, self.repository)
        return self.engine.supports(python, read)

    def _why_no_python(
        self, candidates: Sequence[_Candidate], pythons: Sequence[Interpreter]
    ) -> str:
        lines = []
        for candidate in candidates:
            fits = [python.minor_text for python in pythons if self._fits(candidate, python)]
            lines.append(
                f"  {candidate.revision.label} ({candidate.origin.value}): "
                f"{', '.join(fits) or 'none'}"
            )
        names = ", ".join(python.minor_text for python in pythons)
        return (
            f"No Python here fits every revision. Of {names} these do:\n" + "\n".join(lines) + "\n"
            "Install another Python, choose another --python or --origin, or leave a revision out."
        )


def is_mixed(specs: Sequence[EnvironmentSpec]) -> bool:
    """Whether a comparison mixes code of different compilers."""
    makers = {"here" if spec.origin.is_built_here else spec.origin.value for spec in specs}
    return len(makers) > 1


def _wheel_fits(path: Path, python: Interpreter) -> bool:
    _, _, _, tags = parse_wheel_filename(path.name)
    abis = [python.tag, "abi3", "none"]
    usable = {*cpython_tags(python.minor, abis), *compatible_tags(python.minor, python.tag)}
    return not usable.isdisjoint(tags)

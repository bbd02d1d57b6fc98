"""Revisions -> EnvironmentSpecs: one interpreter for all, one origin for all of an engine.

These are rules 1 and 2. A wheel of the package index and a build made here come from different
compilers and settings, so a comparison across the two says nothing about the code. Wheels are used
when every revision of an engine has one for a common Python; else all of it are built here. A
Python that all can have, and that is not here, is fetched.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from waitbench import engines
from waitbench.engines.base import Engine
from waitbench.environments import index, interpreters, sources
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import Repositories
from waitbench.model.environment import EnvironmentSpec, Interpreter, Origin, OriginChoice
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import (
    Checkout,
    Commit,
    Program,
    Release,
    Revision,
    Variant,
    WheelFile,
)
from waitbench.system.places import Cache


@dataclass(frozen=True)
class _Candidate:
    """A revision with the origin it would have."""

    revision: Revision
    origin: Origin
    commit: str | None = None

    @property
    def engine(self) -> Engine:
        return engines.named(self.revision.engine)


@dataclass(frozen=True)
class Chooser:
    """What a choice is made from."""

    repositories: Repositories
    cache: Cache
    offline: bool = False
    """Whether the index does not answer: what it said before is asked for then."""

    def choose(
        self, revisions: Sequence[Revision], choice: OriginChoice, python_request: str | None
    ) -> tuple[EnvironmentSpec, ...]:
        """Decides interpreter and origin of each. Raises ``UsageError`` if none is valid."""
        pythons = self._pythons(python_request)
        candidates = self._of_all_engines(revisions, choice)
        python = self._shared(candidates, pythons)
        if python is None and choice is OriginChoice.AUTO:
            candidates = self._from_sources(candidates)
            python = self._shared(candidates, pythons)
        if python is None:
            raise UsageError(self._why_no_python(candidates, pythons))
        if not python.executable:
            python = interpreters.fetch(python.minor_text, self.cache)
        return tuple(self._spec(candidate, python) for candidate in candidates)

    def _pythons(self, request: str | None) -> Sequence[Interpreter]:
        """Those that may be chosen, the best first; one to be fetched has no executable yet."""
        if request is not None:
            return (interpreters.find(request, self.cache),)
        here = interpreters.installed(self.cache)
        minors = {python.minor for python in here}
        newest, oldest = interpreters.NEWEST[1], interpreters.OLDEST[1]
        elsewhere = [(3, minor) for minor in range(newest, oldest - 1, -1)]
        return (
            *here,
            *(Interpreter("", f"3.{one[1]}.0") for one in elsewhere if one not in minors),
        )

    def _shared(
        self, candidates: Sequence[_Candidate], pythons: Sequence[Interpreter]
    ) -> Interpreter | None:
        """The first that fits all. Raises ``HarnessError`` where the index cannot say."""
        try:
            with ThreadPoolExecutor(max_workers=8) as pool:
                for python in pythons:
                    if all(pool.map(partial(self._fits, python=python), candidates)):
                        return python
            return None
        except HarnessError:
            found = (
                None if self.offline else replace(self, offline=True)._shared(candidates, pythons)
            )
            if found is None:
                raise
            return found

    def _of_all_engines(
        self, revisions: Sequence[Revision], choice: OriginChoice
    ) -> tuple[_Candidate, ...]:
        """The origin of each revision, in their order; each engine's are decided by themselves."""
        found: dict[str, _Candidate] = {}
        for name in {revision.engine for revision in revisions}:
            of_engine = [revision for revision in revisions if revision.engine == name]
            found |= {one.revision.label: one for one in self._candidates(of_engine, choice)}
        return tuple(found[revision.label] for revision in revisions)

    def _candidates(
        self, revisions: Sequence[Revision], choice: OriginChoice
    ) -> tuple[_Candidate, ...]:
        """The origin that ``choice`` asks for, for an engine's revisions. Raises ``UsageError``."""
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
        if isinstance(revision.source, Program):
            return _Candidate(revision, Origin.PROGRAM)
        if isinstance(revision.source, Variant):
            return _Candidate(revision, Origin.VARIANT)
        if isinstance(revision.source, WheelFile):
            return _Candidate(revision, Origin.FILE)
        if isinstance(revision.source, Release):
            return _Candidate(revision, Origin.WHEEL)
        return self._from_source(revision)

    def _from_source(self, revision: Revision) -> _Candidate:
        source, engine = revision.source, engines.named(revision.engine)
        if isinstance(source, Checkout):
            return _Candidate(revision, Origin.CHECKOUT, source.commit)
        if isinstance(source, (Program, Variant)):
            raise UsageError(f"--origin source: {revision.label} is not built: leave out --origin.")
        assert not isinstance(source, WheelFile), "it is never built"
        repository = self._repository(engine)
        return _Candidate(revision, Origin.SOURCE, sources.commit_of(source, engine, repository))

    def _from_sources(self, candidates: Sequence[_Candidate]) -> tuple[_Candidate, ...]:
        """Those of engines that have all their revisions from wheels built here, where they can."""
        others = {one.engine.name for one in candidates if one.origin is not Origin.WHEEL}
        return tuple(
            one
            if one.engine.name in others or one.engine.repository is None
            else self._from_source(one.revision)
            for one in candidates
        )

    def _repository(self, engine: Engine) -> Repository:
        """Where an engine's sources are. Raises ``UsageError``."""
        if engine.name not in self.repositories:
            raise UsageError(f"{engine.name} is not built from sources here: leave out --origin.")
        return self.repositories[engine.name]

    def _spec(self, candidate: _Candidate, python: Interpreter) -> EnvironmentSpec:
        source, commit = candidate.revision.source, candidate.commit
        date = None
        if candidate.origin is Origin.SOURCE and commit is not None:
            date = self._repository(candidate.engine).date_of(commit)
        return EnvironmentSpec(
            revision=candidate.revision,
            origin=candidate.origin,
            python=python,
            commit=commit,
            commit_date=date,
            wheel=source.path if isinstance(source, WheelFile) else None,
        )

    def _fits(self, candidate: _Candidate, python: Interpreter) -> bool:
        """Whether a revision, with its origin, runs on a Python."""
        source = candidate.revision.source
        if not SpecifierSet(candidate.engine.pythons).contains(python.version):
            return False
        if isinstance(source, (Program, Variant)):
            return True
        if isinstance(source, WheelFile):
            return _wheel_fits(source.path, python)
        if isinstance(source, Release) and candidate.origin is Origin.WHEEL:
            return index.has(candidate.engine, source.version, python, offline=self.offline)
        read = sources.reader_of(candidate.revision, candidate.commit, self.repositories)
        return candidate.engine.supports(python, read)

    def _why_no_python(
        self, candidates: Sequence[_Candidate], pythons: Sequence[Interpreter]
    ) -> str:
        lines = []
        for one in candidates:
            fits = [python.minor_text for python in pythons if self._fits(one, python)]
            lines.append(
                f"  {one.revision.label} ({one.origin.value}): {', '.join(fits) or 'none'}\n"
            )
        names = ", ".join(python.minor_text for python in pythons)
        return (
            f"No Python fits every revision. Of {names} these do:\n{''.join(lines)}"
            "Choose another --python or --origin, or leave a revision out."
        )


def is_mixed(specs: Sequence[EnvironmentSpec]) -> bool:
    """Whether a comparison mixes code of different compilers within an engine."""
    makers = {
        (spec.revision.engine, "here" if spec.origin.is_built_here else spec.origin.value)
        for spec in specs
    }
    return len(makers) > len({engine for engine, _ in makers})


def _wheel_fits(path: Path, python: Interpreter) -> bool:
    _, _, _, tags = parse_wheel_filename(path.name)
    abis = [python.tag, "abi3", "none"]
    usable = {*cpython_tags(python.minor, abis), *compatible_tags(python.minor, python.tag)}
    return not usable.isdisjoint(tags)

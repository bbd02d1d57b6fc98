"""Revisions -> EnvironmentSpecs: one interpreter and one origin for all.

These are rules 1 and 2. A wheel of the package index and a build made here come from different
compilers and settings, so a comparison across the two says nothing about the code. Wheels are used
when every revision has one for a common Python; else all are built here. An older Python for which
all that is installed has wheels comes before a newer one for which some of it is to be built. A
Python that all can have, and that is not here, is fetched.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product

from packaging.specifiers import SpecifierSet

from waitbench.engines import cargo
from waitbench.engines.base import Engine
from waitbench.environments import index, interpreters, wheels
from waitbench.environments.repository import Repository, checkouts, git, read_file
from waitbench.environments.revisions import tree_of
from waitbench.model.environment import EnvironmentSpec, Interpreter, OriginChoice, SourceTree
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import Origin, Revision
from waitbench.system.places import Cache

_UNKNOWN = Interpreter("", "")


@dataclass(frozen=True)
class Chooser:
    """What a choice is made from."""

    engine: Engine
    repository: Repository | None
    cache: Cache
    say: Callable[[str], None] = lambda _message: None
    offline: bool = False
    """Whether the index does not answer: what it said before is asked for then."""

    def choose(
        self, revisions: Sequence[Revision], choice: OriginChoice, python_request: str | None
    ) -> tuple[EnvironmentSpec, ...]:
        """Decides interpreter and origin of each. Raises ``UsageError`` if none is valid."""
        pythons = self._pythons(python_request)
        specs = self._specs(revisions, choice)
        fitting = self._fitting(specs, pythons)
        are_wheels = all(one.origin is Origin.WHEEL for one in specs)
        if fitting is None and choice == "auto" and are_wheels and self.repository:
            specs = tuple(self._spec(one, from_source=True) for one in revisions)
            fitting = self._fitting(specs, pythons)
        if fitting is None:
            raise UsageError(self._why_no_python(specs, pythons))
        python = fitting[0].python
        if not python.executable:
            python = interpreters.fetch(python.minor_text, self.cache, self.say)
        return tuple(replace(spec, python=python) for spec in fitting)

    def _pythons(self, request: str | None) -> Sequence[Interpreter]:
        """Those that may be chosen, the best first; one to be fetched has no executable yet."""
        if request is not None:
            return (interpreters.find(request, self.cache, self.say),)
        here = interpreters.installed(self.cache)
        newest, oldest = interpreters.NEWEST[1], interpreters.OLDEST[1]
        others = {(3, minor) for minor in range(oldest, newest + 1)} - {one.minor for one in here}
        return (*here, *(Interpreter("", f"3.{minor}.0") for _, minor in sorted(others)[::-1]))

    def _fitting(
        self, specs: Sequence[EnvironmentSpec], pythons: Sequence[Interpreter]
    ) -> tuple[EnvironmentSpec, ...] | None:
        """The same for the first Python that fits all; by wheels alone if any does.

        Raises ``HarnessError`` where the index cannot say.
        """
        try:
            with ThreadPoolExecutor(max_workers=8) as pool:
                for only_wheels, python in product((True, False), pythons):
                    tried = tuple(
                        replace(spec, python=python, only_wheels=only_wheels) for spec in specs
                    )
                    if not any(pool.map(self._obstacle, tried)):
                        return tried
            return None
        except HarnessError:
            found = None if self.offline else replace(self, offline=True)._fitting(specs, pythons)
            if found is None:
                raise
            return found

    def _specs(
        self, revisions: Sequence[Revision], choice: OriginChoice
    ) -> tuple[EnvironmentSpec, ...]:
        """The origin that is asked for; the Python is not known yet. Raises ``UsageError``."""

        def first(*origins: Origin) -> str | None:
            found = (one.label for one in revisions if one.source.origin in origins)
            return next(found, None)

        file, unreleased = first(Origin.FILE), first(Origin.SOURCE, Origin.CHECKOUT)
        finished = first(Origin.FILE, Origin.PROGRAM, Origin.VARIANT)
        other = unreleased or first(Origin.WHEEL)
        if choice == "wheel" and unreleased:
            raise UsageError(
                f"--origin wheel: {unreleased} is not a release, so no index has a wheel of it."
            )
        if choice == "source" and finished:
            raise UsageError(f"--origin source: {finished} has no sources, so it cannot be built.")
        if file and other and choice != "mixed":
            raise UsageError(
                f"{file} is a wheel file and {other} is not: their compilers may differ, and with "
                "them the figures. To compare them all the same, add --origin mixed."
            )
        from_source = choice == "source" or (choice == "auto" and unreleased is not None)
        return tuple(self._spec(one, from_source=from_source) for one in revisions)

    def _spec(self, revision: Revision, *, from_source: bool) -> EnvironmentSpec:
        source = revision.source
        origin, commit, date, sources = source.origin, None, None, None
        if origin is Origin.CHECKOUT and source.path:
            commit = git(source.path, "rev-parse", "HEAD")
            sources = SourceTree(checkouts(self.cache), source.identity)
        elif origin is Origin.SOURCE or (from_source and origin is Origin.WHEEL):
            sources = tree_of(revision, self.engine, self.repository)
            origin, commit = Origin.SOURCE, sources.tree
            date = git(sources.repository, "show", "--no-patch", "--format=%cI", commit)
        return EnvironmentSpec(
            revision=revision,
            origin=origin,
            python=_UNKNOWN,
            commit=commit,
            commit_date=date,
            wheel=source.path if origin is Origin.FILE else None,
            sources=sources,
        )

    def _obstacle(self, spec: EnvironmentSpec) -> str:
        """Why a revision, with its origin, does not run on its Python; empty if it does."""
        python = spec.python
        if not SpecifierSet(self.engine.pythons).contains(python.version):
            return f"the worker takes Python {self.engine.pythons}"
        if spec.wheel is not None and not wheels.fits(spec.wheel, python):
            return f"{spec.wheel.name} is not for it"
        sources = spec.sources
        if sources and not cargo.supports_python(python, partial(read_file, sources)):
            return "its sources do not take it"
        return index.obstacle(self.engine, spec, offline=self.offline)

    def _why_no_python(
        self, specs: Sequence[EnvironmentSpec], pythons: Sequence[Interpreter]
    ) -> str:
        lines = []
        for spec in specs:
            tried = (replace(spec, python=python, only_wheels=False) for python in pythons)
            obstacles = {one.python.minor_text: self._obstacle(one) for one in tried}
            fits = ", ".join(name for name, why in obstacles.items() if not why)
            if not fits:
                fits = f"none, as {obstacles[pythons[0].minor_text]}"
                before = self._newest_before(spec, pythons)
                fits += f"; the newest before it is {before}" if before else ""
            lines.append(f"  {spec.revision.label} ({spec.origin.value}): {fits}\n")
        names = ", ".join(python.minor_text for python in pythons)
        return (
            f"No Python fits every revision. Of {names} these do:\n{''.join(lines)}"
            "Choose another --python or --origin, or leave a revision out."
        )

    def _newest_before(self, spec: EnvironmentSpec, pythons: Sequence[Interpreter]) -> str:
        """The newest release before a release that one of the Pythons can have, if there is one."""
        version = spec.revision.source.identity
        if spec.origin is not Origin.WHEEL:
            return ""
        below = (index.releases(self.engine, one, f"<={version},!={version}") for one in pythons)
        return next(chain.from_iterable(below), "")


def is_mixed(specs: Sequence[EnvironmentSpec]) -> bool:
    """Whether a comparison mixes code of different compilers."""
    return len({"here" if one.sources else one.origin.value for one in specs}) > 1

"""Chooses one interpreter and one origin for all revisions of a comparison.

Wheels of the package index and local builds come from different compilers, whose effect would look
like that of the code. So wheels are used only if all revisions have wheels for the same Python;
else all revisions are built here. An older Python with wheels of all packages is preferred to a
newer Python that needs builds. A missing Python is downloaded.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import get_args

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from waitbench.engines import cargo
from waitbench.engines.base import Engine
from waitbench.environments import packages, uv
from waitbench.environments.repository import Repository, checkouts, git, read_file
from waitbench.environments.revisions import tree_of
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import (
    Archives,
    EnvironmentSpec,
    Interpreter,
    Origin,
    OriginChoice,
    SourceTree,
)
from waitbench.system.paths import Cache


@dataclass(frozen=True)
class OriginResolver:
    """Chooses the interpreter and the origins of a comparison."""

    engine: Engine
    repository: Repository | None
    cache: Cache
    say: Callable[[str], None] = lambda _message: None

    def choose(
        self, specs: Sequence[EnvironmentSpec], choice: OriginChoice, python_request: str | None
    ) -> tuple[EnvironmentSpec, ...]:
        """Adds a Python and an origin to specs. Raises ``UsageError`` if none suit all of them."""
        pythons = self._pythons(python_request)
        requested, specs = specs, self._with_origins(specs, choice)
        fitting = self._fitting(specs, pythons)
        are_wheels = all(spec.origin is Origin.WHEEL for spec in specs)
        if fitting is None and choice == "auto" and are_wheels and self.repository:
            specs = tuple(self._with_origin(spec, from_source=True) for spec in requested)
            fitting = self._fitting(specs, pythons)
        if fitting is None:
            raise UsageError(self._why_no_python(specs, pythons))
        python = fitting[0].python
        if not python.executable:
            python = uv.fetch_python(python.minor_text, self.cache, self.say)
        return tuple(replace(spec, python=python) for spec in fitting)

    def _pythons(self, request: str | None) -> Sequence[Interpreter]:
        """The possible Pythons, the best first; those to download have no executable yet."""
        if request is not None:
            return (uv.find_python(request, self.cache, self.say),)
        installed = uv.installed_pythons(self.cache)
        all_minors = {(3, minor) for minor in range(uv.OLDEST[1], uv.NEWEST[1] + 1)}
        missing = sorted(all_minors - {python.minor for python in installed}, reverse=True)
        return (*installed, *(Interpreter("", f"3.{minor}.0") for _, minor in missing))

    def _fitting(
        self,
        specs: Sequence[EnvironmentSpec],
        pythons: Sequence[Interpreter],
        *,
        offline: bool = False,
    ) -> tuple[EnvironmentSpec, ...] | None:
        """Adds the first Python that suits all specs; returns ``None`` if no Python does.

        Resolves requirements with uv's cache if the index does not answer. Raises ``HarnessError``.
        """
        obstacle = partial(self._obstacle, offline=offline)
        try:
            with ThreadPoolExecutor(max_workers=8) as pool:
                levels = get_args(Archives)[: 2 + self.engine.takes_archives]
                for archives, python in product(levels, pythons):
                    tried = [replace(it, python=python, archives=archives) for it in specs]
                    if not any(pool.map(obstacle, tried)):
                        return tuple(tried)
            return None
        except HarnessError:
            fitting = None if offline else self._fitting(specs, pythons, offline=True)
            if fitting is None:
                raise
            return fitting

    def _with_origins(
        self, specs: Sequence[EnvironmentSpec], choice: OriginChoice
    ) -> tuple[EnvironmentSpec, ...]:
        """Chooses the origin of each spec. Raises ``UsageError``."""

        def first_of(*origins: Origin) -> str | None:
            labels = (spec.label for spec in specs if spec.source.origin in origins)
            return next(labels, None)

        file, unreleased = first_of(Origin.FILE), first_of(Origin.SOURCE, Origin.CHECKOUT)
        no_source = first_of(Origin.FILE, Origin.PROGRAM, Origin.VARIANT, Origin.BUILD)
        other = unreleased or first_of(Origin.WHEEL)
        if choice == "wheel" and unreleased:
            raise UsageError(
                f"--origin wheel: {unreleased} is not a release, so no index has a wheel of it."
            )
        if choice == "source" and no_source:
            raise UsageError(f"--origin source: {no_source} has no sources, so it cannot be built.")
        if file and other and choice != "mixed":
            raise UsageError(
                f"{file} is a wheel file and {other} is not: their compilers may differ, and with "
                "them the figures. To compare them all the same, add --origin mixed."
            )
        from_source = choice == "source" or (choice == "auto" and unreleased is not None)
        return tuple(self._with_origin(spec, from_source=from_source) for spec in specs)

    def _with_origin(self, spec: EnvironmentSpec, *, from_source: bool) -> EnvironmentSpec:
        """Adds the origin, and the commit or wheel; a release is built ``from_source`` or not."""
        source = spec.source
        origin, commit, date, source_tree = source.origin, None, None, None
        if origin is Origin.CHECKOUT and source.path:
            commit = git(source.path, "rev-parse", "HEAD")
            source_tree = SourceTree(checkouts(self.cache), source.identity)
        elif origin is Origin.SOURCE or (from_source and origin is Origin.WHEEL):
            source_tree = tree_of(spec, self.engine, self.repository)
            origin, commit = Origin.SOURCE, source_tree.tree
            date = git(source_tree.repository, "show", "--no-patch", "--format=%cI", commit)
        return replace(
            spec,
            origin=origin,
            commit=commit,
            commit_date=date,
            wheel=source.path if origin is Origin.FILE else None,
            source_tree=source_tree,
        )

    def _obstacle(self, spec: EnvironmentSpec, *, offline: bool = False) -> str:
        """Returns why a spec's Python does not suit the spec; empty if it does."""
        python = spec.python
        if not SpecifierSet(self.engine.pythons).contains(python.version):
            return f"the worker needs Python {self.engine.pythons}"
        if spec.wheel is not None and not packages.fits(spec.wheel, python):
            return f"{spec.wheel.name} is for another Python"
        sources = None if self.engine.build else spec.source_tree
        if sources and not cargo.supports_python(python, partial(read_file, sources)):
            return "its sources do not support this Python"
        return uv.why_unmet(self.engine, spec, offline=offline)

    def _why_no_python(
        self, specs: Sequence[EnvironmentSpec], pythons: Sequence[Interpreter]
    ) -> str:
        lines = []
        for spec in specs:
            obstacles = dict[str, str]()
            for python, archives in product(pythons, get_args(Archives)[1:]):
                why = self._obstacle(replace(spec, python=python, archives=archives))
                obstacles[python.minor_text] = why and obstacles.get(python.minor_text, why)
            fits = ", ".join(name for name, why in obstacles.items() if not why)
            if not fits:
                fits = f"none, as {obstacles[pythons[0].minor_text]}"
            lines.append(f"  {spec.label} ({spec.origin.value}): {fits}\n")
        names = ", ".join(python.minor_text for python in pythons)
        return (
            f"No Python fits every revision. Of {names}, these fit:\n{''.join(lines)}"
            "Choose another --python or --origin, or leave a revision out."
        )


def is_mixed(specs: Sequence[EnvironmentSpec]) -> bool:
    """Whether the revisions may come from different compilers."""
    return len({"here" if spec.source_tree else spec.origin.value for spec in specs}) > 1

"""EnvironmentSpecs -> Environments: virtualenvs, each with one revision and pinned packages."""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import Distribution
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from waitbench.engines import cargo
from waitbench.engines.base import ARCHIVE, Engine
from waitbench.environments import installed, uv
from waitbench.environments.repository import Repository
from waitbench.environments.sources import find_wheel, reader_of, sources_of
from waitbench.model.environment import Environment, EnvironmentSpec, Facts, Origin, Toolchain
from waitbench.model.errors import HarnessError
from waitbench.model.revision import Program, Release, Variant
from waitbench.system import endings, files
from waitbench.system.locks import locked
from waitbench.system.places import Cache
from waitbench.system.processes import BUILD_S, IMPORT_S, INSTALL_S, run_logged

_LAYOUT = "7"
"""The layout of ``environment.json``; with another one, environments of before are unknown."""

_FACTS = "environment.json"
"""Written last: where it is, the environment is whole."""

Made = Mapping[str, Environment | HarnessError]
"""An environment, or the reason why there is none, by label."""


@dataclass(frozen=True, kw_only=True)
class Maker:
    """Makes the environments of an engine's revisions."""

    engine: Engine
    repository: Repository | None
    cache: Cache
    requirements: tuple[str, ...] = ()
    """Packages that the workloads need besides the engine, pinned."""
    toolchain: str | None = None
    """The compiler that the user asks for, by the name that rustup knows."""
    limit_s: float | None = None
    """What any step may take, instead of what fits it."""
    say: Callable[[str, str], None] = lambda _label, _what: None
    """Told of each step: the label, and what is being done."""

    def make_all(self, specs: Sequence[EnvironmentSpec]) -> Made:
        """Makes what is missing. Installations run side by side, compilations in turn."""
        toolchain = self._chosen_toolchain(specs)

        def attempt(spec: EnvironmentSpec) -> Environment | HarnessError:
            try:
                return self._make(spec, toolchain)
            except HarnessError as error:
                return error

        with ThreadPoolExecutor(max_workers=4) as pool:
            try:
                made = list(pool.map(attempt, specs))
            except BaseException:
                # Ctrl-C reaches this thread only: the others wait for compilers for minutes.
                pool.shutdown(wait=False, cancel_futures=True)
                endings.kill_descendants()
                raise
        return {spec.revision.label: result for spec, result in zip(specs, made, strict=True)}

    def build_wheels(self, specs: Sequence[EnvironmentSpec]) -> tuple[EnvironmentSpec, ...]:
        """The same specs, each with its wheel where that is built here, and with its compiler.

        Raises ``HarnessError`` where one cannot be built.
        """
        toolchain = self._chosen_toolchain(specs)

        def built(spec: EnvironmentSpec) -> EnvironmentSpec:
            if not spec.origin.is_built_here or toolchain is None:
                return spec
            log = self.cache.folder("logs") / f"{self._key(spec, toolchain)}.log"
            try:
                wheel = self._build(spec, toolchain, log)
            except HarnessError as error:
                raise HarnessError(f"{spec.revision.label}: {error}") from error
            return replace(spec, wheel=wheel, compiler=toolchain.compiler)

        return tuple(map(built, specs))

    def _chosen_toolchain(self, specs: Sequence[EnvironmentSpec]) -> Toolchain | None:
        """What builds those that are to be built; ``None`` where none is."""
        built = [spec for spec in specs if spec.origin.is_built_here and spec.wheel is None]
        if not built:
            return None
        # One for all of them: two compilers would be two things that differ.
        sources = [reader_of(spec, self.repository) for spec in built]
        if self.engine.uses_cargo:
            return cargo.choose(sources, self.toolchain)
        return Toolchain(cargo.NONE, "")

    def _make(self, spec: EnvironmentSpec, toolchain: Toolchain | None) -> Environment:
        source = spec.revision.source
        if isinstance(source, Program):
            return self._of_program(source)
        key = self._key(spec, toolchain)
        folder = self.cache.folder("environments") / key
        say = partial(self.say, spec.revision.label)
        with locked(self.cache.lock_file(f"environment-{key}"), say):
            facts = _read_facts(folder, self.engine.package)
            if facts is None:
                # Never begun, interrupted half-way, or damaged since.
                shutil.rmtree(folder, ignore_errors=True)
                log = self.cache.folder("logs") / f"{key}.log"
                log.unlink(missing_ok=True)
                wanted = self._wanted(spec, toolchain, log)
                say("installing")
                self._install(spec, wanted, folder, log)
                facts = self._facts(spec, toolchain, folder)
                plain = msgspec.to_builtins(facts, order="deterministic")
                files.write_text(folder / _FACTS, json.dumps(plain, indent=1))
        if isinstance(source, Variant):
            # One environment for all. A variant is not what another is, whatever is installed.
            code = "\0".join((source.name, *facts.requirements))
            sha256 = hashlib.sha256(code.encode()).hexdigest()
            facts = msgspec.structs.replace(facts, package_sha256=sha256, program=source.name)
        return Environment(folder, self.engine.name, facts)

    def _of_program(self, program: Program) -> Environment:
        """No environment of ours: a program has what it needs."""
        facts = Facts(
            python="",
            package_version="",
            extensions={},
            package_sha256=program.sha256,
            requirements=(),
            compiler=None,
            capabilities=frozenset(),
            program=str(program.path),
        )
        folder = self.cache.folder("environments") / f"program-{program.sha256[:16]}"
        return Environment(folder, self.engine.name, facts)

    def _wanted(self, spec: EnvironmentSpec, toolchain: Toolchain | None, log: Path) -> list[str]:
        """What the user named, as requirements."""
        source, beside = spec.revision.source, spec.revision.beside
        extras = ",".join(self.engine.extras)
        package = f"{self.engine.package}[{extras}]" if extras else self.engine.package
        if isinstance(source, Variant):
            return [*beside]
        if isinstance(source, Release) and spec.origin is Origin.WHEEL:
            return [f"{package}=={source.version}", *beside]
        wheel = spec.wheel or self._build(spec, toolchain, log)
        return [f"{package} @ {wheel.resolve().as_uri()}", *beside]

    def _build(self, spec: EnvironmentSpec, toolchain: Toolchain | None, log: Path) -> Path:
        """Builds a revision's wheel, or finds the one built before. Raises ``HarnessError``.

        All builds of one Python and one compiler take place in one folder, one after the other: the
        sources always at the same path, and what builds share beside them. So dependencies compile
        once, and equal sources give equal binaries; that unequal ones never do is the business of
        engines/cargo.py.
        """
        assert toolchain is not None, "what has no wheel is built here"
        python, label = spec.python, spec.revision.label
        text = "\0".join((python.executable, python.version, toolchain.compiler, toolchain.flags))
        key = f"{python.tag}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        folder = self.cache.folder(f"builds/{key}")
        source, output, venv = (folder / name for name in ("source", "output", "venv"))
        kept = self.cache.folder("wheels") / f"{key}-{spec.revision.source.identity}"
        with locked(self.cache.lock_file(f"build-{key}"), partial(self.say, label)):
            wheel = find_wheel(kept)
            if wheel is not None:
                return wheel
            self.say(
                label, "building from source" + "; the first takes minutes" * (not output.exists())
            )
            for old in (source, output, kept):
                shutil.rmtree(old, ignore_errors=True)
            source.mkdir()
            repository, tree = sources_of(spec, self.repository)
            repository.export(tree, source)
            if self.engine.uses_cargo:
                cargo.before(source, folder)
            # PyO3 recompiles when the path of its Python changes, so it is one for all revisions.
            make = [sys.executable, "-m", "virtualenv", "--python", python.executable, str(venv)]
            self._run(make, log, INSTALL_S)
            build = [str(venv / "bin" / "python"), "-m", "pip", "wheel", "--verbose", "--no-deps"]
            build += ["--no-cache-dir", "--disable-pip-version-check", "-w", str(output), "."]
            more = cargo.variables(folder, toolchain) if self.engine.uses_cargo else {}
            try:
                self._run(build, log, BUILD_S, more, cwd=source)
            except HarnessError as error:
                raise HarnessError(f"{error}\n{self.engine.building_needs}".rstrip()) from error
            wheel = find_wheel(output)
            if wheel is None:
                raise HarnessError(f"The build ended without a wheel; the log is {log}.")
            if self.engine.uses_cargo:
                cargo.require_compiled(source, folder, toolchain, log)
            kept.mkdir()
            return wheel.replace(kept / wheel.name)

    def _install(
        self, spec: EnvironmentSpec, wanted: Sequence[str], folder: Path, log: Path
    ) -> None:
        """Makes a virtualenv with what is wanted, and tries to import that."""
        python = spec.python
        venv = ["virtualenv", "--no-seed", "--python", python.executable, str(folder)]
        try:
            self._run([sys.executable, "-m", *venv], log, INSTALL_S)
            self._fill(spec, wanted, folder, log)
            if self.engine.smoke_test:
                command = [str(folder / "bin" / "python"), "-I", "-c", self.engine.smoke_test]
                self._run(command, log, IMPORT_S)
        except HarnessError as error:
            raise HarnessError(
                f"{error}\nThat was Python {python.minor_text}: --python names another."
            ) from error

    def _fill(self, spec: EnvironmentSpec, wanted: Sequence[str], folder: Path, log: Path) -> None:
        """Resolves what is wanted, and installs it.

        What the workloads need comes in the versions that they are pinned to, unless what is
        wanted asks for others: uv prefers those that a lock has.
        """
        options = ["--python", str(folder / "bin" / "python")]
        if ARCHIVE not in self.engine.files:
            options += ["--only-binary", self.engine.package]
        chosen, lock = folder / "requirements.in", folder / "requirements.txt"
        pins = self._needed(spec)
        for requirements in (pins, (*wanted, *map(_unpinned, pins))):
            if requirements:
                files.write_text(chosen, "\n".join(requirements))
                # Without comments: a path in one may have a line break.
                resolve = ("pip", "compile", "--no-header", "--no-annotate", *options)
                resolve += ("--output-file", str(lock), str(chosen))
                self._run(uv.command(*resolve), log, INSTALL_S, uv.settings())
        if lock.exists():
            install = ("pip", "install", *options, "--requirements", str(lock))
            self._run(uv.command(*install), log, INSTALL_S, uv.settings())

    def _run(
        self,
        command: Sequence[str],
        log: Path,
        limit_s: float,
        more: Mapping[str, str] = {},
        cwd: Path | None = None,
    ) -> None:
        limit_s = self.limit_s or limit_s
        run_logged(command, log, time_limit_s=limit_s, more_variables=more, cwd=cwd)

    def _needed(self, spec: EnvironmentSpec) -> tuple[str, ...]:
        """What the workloads need, besides what is under test, or named by the user.

        Of a package that either is, there is no other version.
        """
        package = (self.engine.package,) if self.engine.package else ()
        named = {_name(text) for text in (*spec.revision.beside, *package)}
        return tuple(text for text in self.requirements if _name(text) not in named)

    def _key(self, spec: EnvironmentSpec, toolchain: Toolchain | None) -> str:
        what = [_LAYOUT, self.engine.name, spec.origin.value]
        what += [spec.python.executable, spec.python.version]
        if spec.wheel is not None:
            what.append(hashlib.sha256(spec.wheel.read_bytes()).hexdigest())
        elif spec.origin is not Origin.VARIANT:
            what += [spec.commit or "", spec.revision.source.identity]
        what += [repr(toolchain)] if spec.origin.is_built_here else []
        what += [*sorted(spec.revision.beside), "", *sorted(self._needed(spec))]
        what += [f"[{extra}]" for extra in self.engine.extras]
        digest = hashlib.sha256("\0".join(what).encode()).hexdigest()
        return f"{spec.python.tag}-{digest[:16]}"

    def _facts(self, spec: EnvironmentSpec, toolchain: Toolchain | None, folder: Path) -> Facts:
        is_built = spec.origin.is_built_here and spec.wheel is None
        package, contents, place = None, None, folder
        if not isinstance(spec.revision.source, Variant):
            package = self._package(spec, folder)
            contents = installed.read_contents(package)
            place = Path(str(package.locate_file(self.engine.module)))
        return Facts(
            python=spec.python.version,
            package_version=package.version if package else "",
            extensions=contents.compiled if contents else {},
            package_sha256=contents.sha256 if contents else "",
            requirements=installed.requirements(folder),
            compiler=toolchain.compiler if toolchain and is_built else spec.compiler,
            capabilities=self.engine.capabilities(place),
        )

    def _package(self, spec: EnvironmentSpec, folder: Path) -> Distribution:
        package = installed.find_all(folder).get(canonicalize_name(self.engine.package))
        if package is None:
            raise HarnessError(
                f"{spec.revision.label} did not install a package {self.engine.package}."
            )
        return package


def _name(requirement: str) -> str:
    """The package of a requirement, however it is spelled."""
    return canonicalize_name(Requirement(requirement).name)


def _unpinned(pin: str) -> str:
    """A requirement without its version."""
    requirement = Requirement(pin)
    requirement.specifier = SpecifierSet()
    return str(requirement)


def _read_facts(folder: Path, name: str) -> Facts | None:
    """What is known of an environment; ``None`` where it is not, or no more, what it was."""
    try:
        facts = msgspec.convert(json.loads((folder / _FACTS).read_text("utf-8")), Facts)
        # Its interpreter is a link to one that may be gone.
        if not (folder / "bin" / "python").exists():
            return None
        if facts.package_sha256:
            package = installed.find_all(folder)[canonicalize_name(name)]
            is_whole = installed.read_contents(package).sha256 == facts.package_sha256
        else:
            is_whole = installed.requirements(folder) == facts.requirements
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return None
    return facts if is_whole else None

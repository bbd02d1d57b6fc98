"""EnvironmentSpecs -> Environments: virtualenvs, each with one revision and pinned packages."""

import hashlib
import json
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import Distribution
from pathlib import Path

import msgspec
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from waitbench.engines.base import PROGRAM, Engine
from waitbench.environments import installed
from waitbench.environments.repository import Repository
from waitbench.environments.sources import WheelBuilder, reader_of
from waitbench.model.environment import Environment, EnvironmentSpec, Facts, Interpreter, Toolchain
from waitbench.model.errors import HarnessError
from waitbench.model.revision import Program, Variant
from waitbench.system import endings, files
from waitbench.system.locks import locked
from waitbench.system.places import Cache
from waitbench.system.processes import IMPORT_S, INSTALL_S, run_logged

_LAYOUT = "5"
"""The layout of ``environment.json``; with another one, environments of before are unknown."""

_FACTS = "environment.json"
"""Written last: where it is, the environment is whole."""

_MISSING_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_UNBUILT = re.compile(
    r"^(?:ERROR: )?Failed to build '([^']+)'|Failed building wheel for (\S+)", re.M
)
"""What pip says of a package that has no wheel, and of which it could make none."""
_OF_SETUPTOOLS = ("pkg_resources", "distutils", "setuptools")
"""Modules that many packages use without asking for what brings them: Python did, up to 3.11."""
_SETUPTOOLS = "setuptools==80.9.0"
"""One that still has ``pkg_resources``: 82 has it no more."""

Made = Mapping[str, Environment | HarnessError]
"""An environment, or the reason why there is none, by label."""


@dataclass(frozen=True, kw_only=True)
class Maker:
    """Makes the environments of an engine's revisions."""

    engine: Engine
    repository: Repository | None
    """Where its commits are; ``None`` for an engine that has none."""
    cache: Cache
    requirements: tuple[str, ...] = ()
    """Packages that the workloads need besides the engine, pinned."""
    toolchain: str | None = None
    """The compiler that the user asks for, by the name that the engine's builder knows."""
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
        repositories = {self.engine.name: self.repository} if self.repository else {}
        sources = [reader_of(spec.revision, spec.commit, repositories) for spec in built]
        return self.engine.builder.toolchain(sources, self.toolchain)

    def _make(self, spec: EnvironmentSpec, toolchain: Toolchain | None) -> Environment:
        if isinstance(spec.revision.source, Program):
            return self._of_program(spec, spec.revision.source)
        if isinstance(spec.revision.source, Variant):
            return self._of_variant(spec, spec.revision.source)
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
                wheel = spec.wheel or self._build(spec, toolchain, log)
                self.say(spec.revision.label, "installing")
                self._install(spec, wheel, folder, log)
                facts = self._facts(spec, toolchain, folder)
                plain = msgspec.to_builtins(facts, order="deterministic")
                files.write_text(folder / _FACTS, json.dumps(plain, indent=1))
            return Environment(folder, self.engine.name, facts)

    def _of_program(self, spec: EnvironmentSpec, program: Program) -> Environment:
        """No environment of ours: a program has what it needs."""
        facts = Facts(
            python="",
            package_version="",
            extensions={},
            package_sha256=program.sha256,
            requirements=(),
            compiler=None,
            capabilities=self.engine.traits(program.path).capabilities,
            details={PROGRAM: str(program.path)},
        )
        folder = self.cache.folder("environments") / f"program-{program.sha256[:16]}"
        return Environment(folder, self.engine.name, facts)

    def _of_variant(self, spec: EnvironmentSpec, variant: Variant) -> Environment:
        """The environment that all variants share: an interpreter, and packages where there are.

        It is known by its packages. A variant is not what another is, whatever is installed.
        """
        packages = sorted((*spec.revision.beside, *self._needed(spec)))
        what = [_LAYOUT, "variants", spec.python.executable, spec.python.version, *packages]
        key = f"{spec.python.tag}-{hashlib.sha256(chr(0).join(what).encode()).hexdigest()[:16]}"
        folder, done = self.cache.folder("environments") / key, _FACTS
        say = partial(self.say, spec.revision.label)
        with locked(self.cache.lock_file(f"environment-{key}"), say):
            if not ((folder / done).is_file() and (folder / "bin" / "python").exists()):
                shutil.rmtree(folder, ignore_errors=True)
                log = self.cache.folder("logs") / f"{key}.log"
                log.unlink(missing_ok=True)
                say("installing")
                pip = self._new_virtualenv(spec.python, packages, folder, log)
                if packages:
                    run_logged([*pip, *packages], log, time_limit_s=self.limit_s or INSTALL_S)
                files.write_text(folder / done, json.dumps(packages))
        requirements = _requirements(folder)
        code = "\0".join((variant.name, *requirements))
        facts = Facts(
            python=spec.python.version,
            package_version="",
            extensions={},
            package_sha256=hashlib.sha256(code.encode()).hexdigest(),
            requirements=requirements,
            compiler=None,
            capabilities=self.engine.traits(folder).capabilities,
            details={PROGRAM: variant.name},
        )
        return Environment(folder, self.engine.name, facts)

    def _new_virtualenv(
        self, python: Interpreter, packages: Sequence[str], folder: Path, log: Path
    ) -> list[str]:
        """Makes one, and tells the command that installs into it what is added to it."""
        # A copy of pip would be compiled anew for its only use; but what replaces pip needs one.
        shared = () if "pip" in map(_name, packages) else ("--symlink-app-data",)
        venv = [sys.executable, "-m", "virtualenv", *shared, "--python", python.executable]
        run_logged([*venv, str(folder)], log, time_limit_s=self.limit_s or INSTALL_S)
        program = str(folder / "bin" / "python")
        # In a new environment pip would ask the index whether it is the newest each time.
        return [program, "-m", "pip", "--disable-pip-version-check", "install", "--no-input"]

    def _build(self, spec: EnvironmentSpec, toolchain: Toolchain | None, log: Path) -> Path:
        assert toolchain is not None, "what has no wheel is built here"
        workshop = WheelBuilder(
            builder=self.engine.builder,
            toolchain=toolchain,
            repository=self.repository,
            cache=self.cache,
            limit_s=self.limit_s,
        )
        return workshop.build_wheel(spec, log, lambda what: self.say(spec.revision.label, what))

    def _install(self, spec: EnvironmentSpec, wheel: Path, folder: Path, log: Path) -> None:
        extras = self.engine.extras
        needed = accepted(self._needed(spec), wheel, spec.python, extras)
        beside = (*spec.revision.beside, *needed)
        pip = self._new_virtualenv(spec.python, beside, folder, log)
        python = str(folder / "bin" / "python")
        wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        try:
            run_logged([*pip, wanted, *beside], log, time_limit_s=self.limit_s or INSTALL_S)
        except HarnessError as error:
            unbuilt = _UNBUILT.search(log.read_text("utf-8", "replace"))
            if unbuilt is None:
                raise
            raise HarnessError(
                f"{canonicalize_name(unbuilt[1] or unbuilt[2])} has no wheel for Python "
                f"{spec.python.minor_text} and could not be built: name another Python with "
                f"--python.\n{error}"
            ) from error
        smoke_test = self.engine.smoke_test or installed.import_test(self._package(spec, folder))
        if not smoke_test:
            return
        try:
            run_logged([python, "-I", "-c", smoke_test], log, time_limit_s=self.limit_s or IMPORT_S)
        except HarnessError as error:
            lack = self._known_lack(spec, log)
            if lack:
                raise HarnessError(f"{lack} The log is {log}.") from error
            python = spec.python.minor_text
            raise HarnessError(
                f"{error}\nThat was Python {python}: --python names another."
            ) from error

    def _known_lack(self, spec: EnvironmentSpec, log: Path) -> str:
        """What a revision lacks that was installed and cannot be imported; empty if unknown."""
        found = _MISSING_MODULE.findall(log.read_text("utf-8", "replace"))
        module = found[-1] if found else ""
        if module in _OF_SETUPTOOLS:
            return (
                f"it needs {module}, which comes with setuptools, and neither it nor Python "
                f"{spec.python.minor_text} brings that: name {spec.revision.text}+{_SETUPTOOLS}."
            )
        if module.partition(".")[0] == self.engine.module and self.engine.oldest is not None:
            return (
                f"it has no module {module}: {self.engine.oldest} is the oldest of "
                f"{self.engine.name} that can be measured."
            )
        return ""

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
        else:
            what += [spec.commit or "", spec.identity, repr(toolchain)]
        what += sorted((*spec.revision.beside, *self._needed(spec)))
        what += [f"[{extra}]" for extra in self.engine.extras]
        digest = hashlib.sha256("\0".join(what).encode()).hexdigest()
        return f"{spec.python.tag}-{digest[:16]}"

    def _facts(self, spec: EnvironmentSpec, toolchain: Toolchain | None, folder: Path) -> Facts:
        package = self._package(spec, folder)
        contents = installed.read_contents(package)
        traits = self.engine.traits(Path(str(package.locate_file(self.engine.module))))
        return Facts(
            python=spec.python.version,
            package_version=package.version,
            extensions=contents.compiled,
            package_sha256=contents.sha256,
            requirements=_requirements(folder),
            compiler=toolchain.compiler if toolchain and spec.wheel is None else spec.compiler,
            capabilities=traits.capabilities,
            details=traits.details,
        )

    def _package(self, spec: EnvironmentSpec, folder: Path) -> Distribution:
        package = installed.find_all(folder).get(canonicalize_name(self.engine.package))
        if package is None:
            raise HarnessError(
                f"{spec.revision.label} did not install a package {self.engine.package}."
            )
        return package


def _requirements(folder: Path) -> tuple[str, ...]:
    """What is installed in a virtualenv, but for pip, as ``name==version``."""
    found = sorted(installed.find_all(folder).items())
    return tuple(f"{name}=={one.version}" for name, one in found if name != "pip")


def _name(requirement: str) -> str:
    """The package of a requirement, however it is spelled."""
    return canonicalize_name(Requirement(requirement).name)


def _read_facts(folder: Path, name: str) -> Facts | None:
    """What is known of an environment; ``None`` where it is not, or no more, what it was."""
    try:
        facts = msgspec.convert(json.loads((folder / _FACTS).read_text("utf-8")), Facts)
        # Its interpreter is a link to one that may be gone.
        if not (folder / "bin" / "python").exists():
            return None
        package = installed.find_all(folder)[canonicalize_name(name)]
        is_whole = installed.read_contents(package).sha256 == facts.package_sha256
        return facts if is_whole else None
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return None


def accepted(
    pins: Sequence[str], wheel: Path, python: Interpreter, extras: Sequence[str] = ()
) -> tuple[str, ...]:
    """Those of ``pins``, such as ``httpx==0.27.2``, that are not against what the wheel asks for.

    With ``extras`` of it, what these ask for counts too. Of a package that it asks for in another
    version, it gets what it asks for. Raises ``HarnessError`` for what is not a wheel.
    """
    try:
        asked = _asked_for(wheel, python, extras) if pins else []
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise HarnessError(f"{wheel.name} is not a readable wheel: {error}") from error
    return tuple(
        pin for pin in pins if not any(_is_against(Requirement(pin), one) for one in asked)
    )


def _asked_for(wheel: Path, python: Interpreter, extras: Sequence[str]) -> list[Requirement]:
    """What it cannot be without, on this Python."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [path for path in archive.namelist() if path.endswith(".dist-info/METADATA")]
        metadata = Metadata.from_email(archive.read(name), validate=False)
    here = {
        "python_version": python.minor_text,
        "python_full_version": python.version,
    }
    return [
        one
        for one in metadata.requires_dist or ()
        if one.marker is None
        or any(one.marker.evaluate({**here, "extra": extra}) for extra in ("", *extras))
    ]


def _is_against(pin: Requirement, asked: Requirement) -> bool:
    (version,) = (specifier.version for specifier in pin.specifier)
    return canonicalize_name(pin.name) == canonicalize_name(
        asked.name
    ) and not asked.specifier.contains(version, prereleases=True)

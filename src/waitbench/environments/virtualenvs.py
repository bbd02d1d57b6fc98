"""Builds environments: folders with a revision and its requirements."""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace
from packaging.utils import canonicalize_name

from waitbench.engines import cargo
from waitbench.engines.base import Engine
from waitbench.environments import builds, packages, uv
from waitbench.environments.repository import export, read_file
from waitbench.model.errors import HarnessError
from waitbench.model.revision import (
    SHOWN_DIGITS,
    BuildInfo,
    Environment,
    EnvironmentSpec,
    Origin,
    Source,
    Toolchain,
)
from waitbench.system import files, shutdown
from waitbench.system.locks import locked
from waitbench.system.paths import Cache
from waitbench.system.processes import BUILD_S, IMPORT_S, INSTALL_S, run_logged

_LAYOUT = "9"
"""The version of the folders' layout: if it differs, all environments are built again."""

_RECORD = "environment.json"
"""The file that is written last, and marks a complete environment."""

Built = Mapping[str, Environment | HarnessError]
"""The environment of each label, or the error that prevented it."""


@dataclass(frozen=True, kw_only=True)
class EnvironmentBuilder:
    """Builds the environments of an engine's revisions, including wheels if necessary."""

    engine: Engine
    cache: Cache
    say: Callable[[str, str], None] = lambda _label, _step: None

    def build_all(self, specs: Sequence[EnvironmentSpec]) -> Built:
        """Installs missing environments concurrently, and compiles one by one; returns all."""
        toolchain = self._chosen_toolchain(specs)

        def attempt(spec: EnvironmentSpec) -> Environment | HarnessError:
            try:
                return self._environment(self._with_wheel(spec, toolchain))
            except HarnessError as error:
                return error

        results = shutdown.run_parallel(attempt, specs, at_most=4)
        return {spec.label: result for spec, result in zip(specs, results, strict=True)}

    def build_wheels(self, specs: Sequence[EnvironmentSpec]) -> tuple[EnvironmentSpec, ...]:
        """Adds wheels to specs with a source tree. Raises ``HarnessError``."""
        toolchain = self._chosen_toolchain(specs)
        return tuple(self._with_wheel(spec, toolchain) for spec in specs)

    def _chosen_toolchain(self, specs: Sequence[EnvironmentSpec]) -> Toolchain:
        # The same for all specs, as compilers must not differ between revisions.
        by_pip = () if self.engine.build else specs
        trees = (it.source_tree for it in by_pip if it.source_tree and not it.wheel)
        is_cargo, manifest = self.engine.uses_cargo, "Cargo.toml"
        if any(is_cargo or read_file(tree, manifest) is not None for tree in trees):
            return cargo.choose_toolchain()
        return Toolchain(cargo.NONE, "")

    def _with_wheel(self, spec: EnvironmentSpec, toolchain: Toolchain) -> EnvironmentSpec:
        """Adds the wheel, built now or earlier, to a spec with a source tree.

        Builds run one by one at the same path, so that dependencies compile only once, and equal
        sources give equal binaries. engines/cargo.py ensures that different sources do not.
        """
        if spec.wheel is not None or spec.source_tree is None or self.engine.build is not None:
            return spec
        python, label, tree = spec.python, spec.label, spec.source_tree.tree
        key = f"{python.tag}-{_digest(python.executable, python.version, repr(toolchain))[:8]}"
        folder = self.cache.folder(f"builds/{key}")
        source, output, venv = (folder / name for name in ("source", "output", "venv"))
        stored = self.cache.folder("wheels") / f"{key}-{tree}"
        with locked(self.cache.lock_file(f"build-{key}"), partial(self.say, label)):
            wheel = next(stored.glob("*.whl"), None)
            if wheel is not None:
                return replace(spec, wheel=wheel, compiler=toolchain.compiler)
            hint = "" if output.exists() else "; the first takes minutes"
            self.say(label, f"building from source{hint}")
            log = self._new_log(f"{key}-{tree}")
            for old in (source, output, stored):
                files.remove(old)
            source.mkdir()
            export(spec.source_tree, source)
            if self.engine.uses_cargo:
                cargo.remove_fingerprints(source, folder)
            # All revisions use a Python at the same path, as PyO3 recompiles if it changes.
            make = [sys.executable, "-m", "virtualenv", "--python", python.executable, str(venv)]
            run_logged(make, log, time_limit_s=INSTALL_S)
            build = [str(venv / "bin" / "python"), "-I", "-m", "pip", "wheel", "--verbose"]
            build += ["--no-deps", "--no-cache-dir", "--disable-pip-version-check"]
            build += ["-w", str(output), "."]
            variables = cargo.variables(folder if self.engine.uses_cargo else source, toolchain)
            try:
                run_logged(build, log, time_limit_s=BUILD_S, more_variables=variables, cwd=source)
            except HarnessError as error:
                needs = f"{label} was not built. {self.engine.building_needs}".rstrip()
                raise HarnessError(f"{error}\n{needs}") from error
            wheel = next(output.glob("*.whl"), None)
            if wheel is None:
                raise HarnessError(f"The build ended without a wheel; the log is {log}.")
            if self.engine.uses_cargo:
                cargo.require_compiled(source, log)
            stored.mkdir()
            wheel = wheel.replace(stored / wheel.name)
        return replace(spec, wheel=wheel, compiler=toolchain.compiler)

    def _environment(self, spec: EnvironmentSpec) -> Environment:
        """Returns the environment of a spec, installed if missing. Raises ``HarnessError``."""
        source = spec.source
        if not self.engine.has_environment and self.engine.build is None:
            folder = self.cache.folder("environments") / f"program-{source.identity[:16]}"
            build = BuildInfo(python="", package_sha256=source.identity, program=str(source.path))
        else:
            folder, build = self._installed(spec)
        if spec.origin is Origin.VARIANT:
            # Variants share an environment, but need different digests.
            sha256 = _digest(source.identity, *build.requirements)
            build = replace(build, package_sha256=sha256, program=source.identity)
        return Environment(folder, build)

    def _installed(self, spec: EnvironmentSpec) -> tuple[Path, BuildInfo]:
        """Returns the folder and content of an environment; installs it unless it is complete."""
        key = self._key(spec)
        folder = self.cache.folder("environments") / key
        say = partial(self.say, spec.label)
        with locked(self.cache.lock_file(f"environment-{key}"), say):
            build = self._valid_build(spec, folder)
            if build is None:
                self._remove(folder)
                say("installing" if self.engine.build is None else "building")
                try:
                    self._install(spec, folder, self._new_log(key))
                    build = self._build_info(spec, folder)
                    files.write_text(folder / _RECORD, _as_text(build))
                except BaseException:
                    self._remove(folder)
                    raise
        return folder, build

    def _remove(self, folder: Path) -> None:
        files.remove(folder)
        files.remove(self.cache.bytecode(folder))

    def _install(self, spec: EnvironmentSpec, folder: Path, log: Path) -> None:
        python = str(folder / "bin" / "python")
        venv = ["virtualenv", "--no-seed", "--python", spec.python.executable, str(folder)]
        wheel = spec.wheel.resolve().as_uri() if spec.wheel else ""
        required = uv.requirements(self.engine, spec, wheel)
        options = uv.options(self.engine, spec)
        install = uv.command("pip", "install", "--python", python, *options, *required)
        # Where runs look for it: otherwise the first run of a revision compiles its imports.
        prefix = str(self.cache.bytecode())
        settings = {**uv.settings(), "PYTHONPYCACHEPREFIX": prefix}
        smoke_test = [python, "-I", "-X", f"pycache_prefix={prefix}", "-c", self.engine.smoke_test]
        try:
            if self.engine.has_environment:
                run_logged([sys.executable, "-m", *venv], log, time_limit_s=INSTALL_S)
            if required:
                run_logged(install, log, time_limit_s=INSTALL_S, more_variables=settings)
            if self.engine.smoke_test:
                run_logged(smoke_test, log, time_limit_s=IMPORT_S)
        except HarnessError as error:
            raise HarnessError(
                f"{error}\nThis was Python {spec.python.minor_text}: --python names another."
            ) from error
        if self.engine.build is not None:
            builds.run_build(self.engine, spec, folder, log, self.cache)

    def _new_log(self, name: str) -> Path:
        log = self.cache.folder("logs") / f"{name}.log"
        log.unlink(missing_ok=True)
        return log

    def _key(self, spec: EnvironmentSpec) -> str:
        """The name of an environment's folder, with a digest of all that determines its content."""
        wheel = hashlib.sha256(spec.wheel.read_bytes()).hexdigest() if spec.wheel else ""
        parts = [_LAYOUT, self.engine.name, spec.origin.value, str(spec.compiler)]
        if self.engine.has_environment:
            parts += [spec.python.executable, spec.python.version]
            parts += sorted(uv.requirements(self.engine, spec, wheel))
            parts += uv.options(self.engine, spec)
        if self.engine.build is None:
            return f"{spec.python.tag}-{_digest(*parts)[:16]}"
        identity = spec.source_tree.tree if spec.source_tree else spec.source.identity
        parts += [identity, *builds.determinants(self.engine)]
        return f"{self.engine.name}-{identity[:SHOWN_DIGITS]}-{_digest(*parts)[:16]}"

    def _build_info(self, spec: EnvironmentSpec, folder: Path) -> BuildInfo:
        """Describes an environment. Raises ``HarnessError`` if the package is not installed."""
        by_name = packages.installed(folder)
        requirements = tuple(f"{name}=={dist.version}" for name, dist in sorted(by_name.items()))
        build = BuildInfo(
            python=spec.python.version, requirements=requirements, compiler=spec.compiler
        )
        if spec.origin is Origin.VARIANT:
            return build
        if self.engine.build is not None:
            return replace(
                build,
                python=spec.python.version if self.engine.has_environment else "",
                package_version=spec.source.identity if spec.origin.is_release else "",
                package_sha256=packages.sha256_of(folder),
                program=spec.source.identity,
            )
        package = by_name.get(canonicalize_name(self.engine.package))
        if package is None:
            raise HarnessError(f"{spec.label} did not install a package {self.engine.package}.")
        sha256, compiled = packages.read_contents(package)
        module = Path(str(package.locate_file(self.engine.module)))
        return replace(
            build,
            package_version=package.version,
            extensions=compiled,
            package_sha256=sha256,
            capabilities=self.engine.capabilities(module),
        )

    def _valid_build(self, spec: EnvironmentSpec, folder: Path) -> BuildInfo | None:
        """The content of a complete environment; ``None`` if it is missing or damaged."""
        try:
            text = (folder / _RECORD).read_text("utf-8")
            if self.engine.build is not None:
                # Not compared with the files, as built programs may write into their folder.
                build = msgspec.json.decode(text, type=BuildInfo)
            else:
                build = self._build_info(spec, folder)
        except (HarnessError, OSError, ValueError, TypeError):
            return None
        # The interpreter is a link, whose target may be gone.
        has_python = (folder / "bin" / "python").exists() or not self.engine.has_environment
        return build if text == _as_text(build) and has_python else None


def has_changed(source: Source, environment: Environment, package: str) -> bool:
    """Whether the code of a revision has changed since it was resolved or installed."""
    if source.origin is Origin.PROGRAM and source.path is not None:
        return files.sha256(source.path) != source.identity
    if source.origin is Origin.VARIANT or not package:
        # Built programs may write into their folder.
        return False
    try:
        installed = packages.installed(environment.folder)[canonicalize_name(package)]
        return packages.read_contents(installed)[0] != environment.build.package_sha256
    except (OSError, LookupError):
        return True


def _as_text(build: BuildInfo) -> str:
    return json.dumps(msgspec.to_builtins(build, order="deterministic"), indent=1)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()

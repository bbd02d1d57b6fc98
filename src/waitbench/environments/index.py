"""Queries to the package index, by uv."""

import re
import sys
from collections.abc import Iterator, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from waitbench.engines.base import Engine
from waitbench.environments import uv
from waitbench.model.errors import HarnessError
from waitbench.model.revision import EnvironmentSpec, Interpreter, Origin
from waitbench.system.locks import temporary_folder
from waitbench.system.processes import CommandOutput

_ALL = ":all:"


def required(engine: Engine, spec: EnvironmentSpec, wheel: str = "") -> list[str]:
    """The revision, from its ``wheel`` if any, and the pins of other packages."""
    package, source = engine.package, spec.source
    pins = [pin for pin in engine.requirements if canonicalize_name(_name(pin)) != package]
    if spec.origin is Origin.VARIANT or (spec.origin is not Origin.WHEEL and not wheel):
        return pins
    extras = f"[{','.join(engine.extras)}]" if engine.extras else ""
    return [f"{package}{extras}{f' @ {wheel}' if wheel else f'=={source.identity}'}", *pins]


def options(engine: Engine, spec: EnvironmentSpec) -> list[str]:
    """uv's options for an environment: packages that must be wheels, and the newest upload date.

    The date does not hold for packages that are requested by version.
    """
    pins = list(map(_name, engine.requirements))
    wheels = [] if engine.takes_archives else [engine.package]
    if spec.only_wheels:
        # The dependencies of a source build are not known before it.
        wheels += [_ALL] if spec.origin in (Origin.WHEEL, Origin.VARIANT) else pins
    words = [word for name in wheels for word in ("--only-binary", name)]
    if engine.exclude_newer:
        words += ["--exclude-newer", engine.exclude_newer]
        for name in filter(None, [engine.package, *pins]):
            words += ["--exclude-newer-package", f"{name}=false"]
    return words


def obstacle(engine: Engine, spec: EnvironmentSpec, *, offline: bool = False) -> str:
    """Why requirements cannot be met, by uv's cache if ``offline``; empty if they can.

    Considers dependencies only where all must be wheels: else they need a build to be known. Raises
    ``HarnessError`` where the index does not answer.
    """
    requirements = required(engine, spec)
    if not requirements:
        return ""
    more = options(engine, spec)
    more += ["--no-deps"] * (_ALL not in more) + ["--offline"] * offline
    answer = _compile(requirements, spec.python, *more)
    if answer.returncode == 0:
        return ""
    reason = uv.reason(answer)
    because = re.search(r"Because (.+?)(,? and |, we can conclude)", reason)
    return because[1] if because else reason


def releases(
    engine: Engine, python: Interpreter, within: str = "", *, prereleases: bool = False
) -> Iterator[str]:
    """The releases for a Python that are not yanked, newest first. Raises ``HarnessError``."""
    more = ["--no-deps", "--prerelease", "allow" if prereleases else "disallow"]
    if not engine.takes_archives:
        more += ["--only-binary", engine.package]
    below = within
    while True:
        answer = _compile([f"{engine.package}{below}"], python, *more)
        version = answer.stdout.strip().partition("==")[2]
        if not version:
            return
        yield version
        below = ",".join(filter(None, (within, f"<={version}", f"!={version}")))


def _compile(requirements: Sequence[str], python: Interpreter, *more: str) -> CommandOutput:
    """Resolves requirements for a Python. Raises ``HarnessError``."""
    which = ("--python", sys.executable, "--python-version", python.minor_text)
    quiet = ("--no-header", "--no-annotate", "--quiet")
    with temporary_folder() as folder:
        file = folder / "requirements.in"
        file.write_text("".join(f"{line}\n" for line in requirements))
        answer = uv.ask("pip", "compile", *which, *quiet, *more, str(file))
    # uv reports a refused request as a missing package, with a hint.
    if answer.returncode not in (0, 1) or "\nhint: An index" in answer.stderr:
        raise HarnessError(
            f"The package index does not answer for {', '.join(requirements)}: "
            f"{uv.reason(answer)}. Check the network, and the index in pip's settings."
        )
    return answer


def _name(requirement: str) -> str:
    return Requirement(requirement).name

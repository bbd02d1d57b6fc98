"""What the package index has for an engine, as uv says."""

import re
import sys
from collections.abc import Iterator, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from waitbench.engines.base import Engine
from waitbench.environments import uv
from waitbench.model.environment import EnvironmentSpec, Interpreter
from waitbench.model.errors import HarnessError
from waitbench.model.revision import Origin
from waitbench.system.locks import temporary_folder
from waitbench.system.processes import Answer

_ALL = ":all:"
"""uv's name of all packages."""


def required(engine: Engine, spec: EnvironmentSpec, wheel: str = "") -> list[str]:
    """What an environment has installed: the revision, by its ``wheel`` if it has one, and more.

    Of a package that is under test there is no other version.
    """
    package, source = engine.package, spec.revision.source
    pins = [pin for pin in engine.requirements if canonicalize_name(_name(pin)) != package]
    if spec.origin is Origin.VARIANT or (spec.origin is not Origin.WHEEL and not wheel):
        return pins
    extras = f"[{','.join(engine.extras)}]" if engine.extras else ""
    return [f"{package}{extras}{f' @ {wheel}' if wheel else f'=={source.identity}'}", *pins]


def options(engine: Engine, spec: EnvironmentSpec) -> list[str]:
    """uv's options for an environment: what may be built, and from when on nothing counts.

    What a wheel of our own requires is not known before it is built, so only pins have to be wheels
    there. A package that somebody has named by its version may be of any day.
    """
    pins = list(map(_name, engine.requirements))
    wheels = [] if engine.takes_archives else [engine.package]
    if spec.only_wheels:
        wheels += [_ALL] if spec.origin in (Origin.WHEEL, Origin.VARIANT) else pins
    found = [word for name in wheels for word in ("--only-binary", name)]
    if engine.exclude_newer:
        found += ["--exclude-newer", engine.exclude_newer]
        for name in filter(None, [engine.package, *pins]):
            found += ["--exclude-newer-package", f"{name}=false"]
    return found


def obstacle(engine: Engine, spec: EnvironmentSpec, *, offline: bool = False) -> str:
    """Why an environment cannot have what it requires; empty if it can, or requires nothing.

    Its Python need not be here. What is required indirectly counts where all is to be wheels: else
    it is not known without a build. ``offline`` asks what uv keeps of the index. Raises
    ``HarnessError`` where that does not answer.
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
    more = ("--prerelease", "allow" if prereleases else "disallow")
    found = _newest(engine, within, python, *more)
    while found is not None:
        yield found
        below = ",".join(filter(None, (within, f"<={found}", f"!={found}")))
        found = _newest(engine, below, python, *more)


def _newest(engine: Engine, specifier: str, python: Interpreter, *more: str) -> str | None:
    """The newest version that a specifier allows and a Python can have."""
    wheels = () if engine.takes_archives else ("--only-binary", engine.package)
    answer = _compile([f"{engine.package}{specifier}"], python, "--no-deps", *wheels, *more)
    return answer.stdout.strip().partition("==")[2] or None


def _compile(requirements: Sequence[str], python: Interpreter, *more: str) -> Answer:
    """uv's answer to what a Python would have installed. Raises ``HarnessError``."""
    which = ("--python", sys.executable, "--python-version", python.minor_text)
    quiet = ("--no-header", "--no-annotate", "--quiet")
    with temporary_folder() as folder:
        wanted = folder / "requirements.in"
        wanted.write_text("".join(f"{line}\n" for line in requirements))
        answer = uv.ask("pip", "compile", *which, *quiet, *more, str(wanted))
    # Whom an index refuses is told that it has none, with a hint.
    if answer.returncode not in (0, 1) or "\nhint: An index" in answer.stderr:
        raise HarnessError(
            f"The package index does not answer for {', '.join(requirements)}: "
            f"{uv.reason(answer)}. Check the network, and the index in pip's settings."
        )
    return answer


def _name(requirement: str) -> str:
    return Requirement(requirement).name

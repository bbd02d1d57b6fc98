"""What the package index has of an engine's package, as uv says."""

import sys
from collections.abc import Iterator

from waitbench.engines.base import Engine
from waitbench.environments import uv
from waitbench.model.environment import Interpreter
from waitbench.model.errors import HarnessError
from waitbench.system.locks import temporary_folder


def has(engine: Engine, version: str, python: Interpreter, *, offline: bool = False) -> bool:
    """Whether a release can be installed on a Python, which need not be here.

    ``offline`` asks what uv keeps of the index. Raises ``HarnessError`` where that does not answer.
    """
    more = ("--offline",) if offline else ()
    return _newest(engine, f"=={version}", python, *more) is not None


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
    options = ("--no-deps", "--no-header", "--no-annotate", "--quiet", *wheels, *more)
    which = ("--python", sys.executable, "--python-version", python.minor_text)
    with temporary_folder() as folder:
        wanted = folder / "requirements.in"
        wanted.write_text(f"{engine.package}{specifier}\n")
        answer = uv.ask("pip", "compile", *which, *options, str(wanted))
    # Whom an index refuses is told that it has none, with a hint.
    if answer.returncode not in (0, 1) or "\nhint: An index" in answer.stderr:
        raise HarnessError(
            f"The package index does not answer for {engine.package}{specifier}: "
            f"{uv.reason(answer)}. Check the network, and the index in pip's settings."
        )
    return answer.stdout.strip().partition("==")[2] or None

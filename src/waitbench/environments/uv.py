"""Calls uv, for packages of the index and for Pythons. pip's settings apply unless uv's are set."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from configparser import Error, RawConfigParser
from contextlib import suppress
from pathlib import Path

import platformdirs
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from uv import find_uv_bin

from waitbench.engines.base import Engine
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import EnvironmentSpec, Interpreter, Origin
from waitbench.system import processes, variables
from waitbench.system.locks import temporary_folder
from waitbench.system.paths import Cache
from waitbench.system.processes import CommandOutput

OLDEST, NEWEST = (3, 9), (3, 14)
"""The Pythons that may be downloaded. A newer one is used if it is installed."""

_FROM_PIP = {
    # uv's variable for each option of pip.
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "retries": "UV_HTTP_RETRIES",
}
_FIXED_SETTINGS = {
    # Environments with shared files would share memory, and could damage each other.
    "UV_LINK_MODE": "copy",
    "UV_COMPILE_BYTECODE": "1",
    "UV_NO_PROGRESS": "1",
    "UV_NO_WRAP": "1",
    "NO_COLOR": "1",
}
_TIME_LIMIT_S = 300
_ALL_PACKAGES = ":all:"


def command(*arguments: str) -> list[str]:
    """A command line of uv, which runs in a folder without a project's settings."""
    return [find_uv_bin(), "--directory", "/", *arguments]


def ask(*arguments: str, **more_variables: str) -> CommandOutput:
    env = {**variables.of_setup(), **settings(), **more_variables}
    return processes.ask(command(*arguments), time_limit_s=_TIME_LIMIT_S, env=env)


def settings() -> Mapping[str, str]:
    """uv's variables, from pip's settings unless the user has set uv's. Raises ``UsageError``."""
    # Not in the user's home, which may be missing or read-only.
    env = {"UV_CACHE_DIR": str(Cache().root / "uv")}
    for option, value in _pip_options().items():
        name, words = _FROM_PIP.get(option), value.split()
        if name and words:
            env[name] = ("," if name == "UV_FIND_LINKS" else " ").join(words)
    if "UV_INDEX" in env:
        # The best version of all indexes, as pip does: uv's default is the first with the package.
        env["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return {name: value for name, value in env.items() if name not in os.environ} | _FIXED_SETTINGS


def requirements(engine: Engine, spec: EnvironmentSpec, wheel: str = "") -> list[str]:
    """The requirements of an environment: the revision, by version or ``wheel``, and other pins."""
    package, source = engine.package, spec.source
    pins = [pin for pin in engine.requirements if canonicalize_name(_name(pin)) != package]
    if spec.origin is Origin.VARIANT or (spec.origin is not Origin.WHEEL and not wheel):
        return pins
    extras = f"[{','.join(engine.extras)}]" if engine.extras else ""
    return [f"{package}{extras}{f' @ {wheel}' if wheel else f'=={source.identity}'}", *pins]


def options(engine: Engine, spec: EnvironmentSpec) -> list[str]:
    """Options that name the packages to install from wheels only, or from archives only."""
    wheels = [] if engine.takes_archives else [engine.package]
    if spec.archives == "none":
        # The dependencies of a build are unknown before it.
        is_built = spec.origin not in (Origin.WHEEL, Origin.VARIANT)
        wheels += map(_name, engine.requirements) if is_built else [_ALL_PACKAGES]
    elif engine.takes_archives and spec.origin is Origin.WHEEL:
        # The package of all revisions comes from one compiler.
        kind = "--no-binary" if spec.archives == "all" else "--only-binary"
        return [kind, engine.package]
    return [word for name in wheels for word in ("--only-binary", name)]


def why_unmet(engine: Engine, spec: EnvironmentSpec, *, offline: bool = False) -> str:
    """Returns why requirements cannot be met; empty if they can. ``offline`` asks uv's cache.

    Considers dependencies only if all packages must be wheels: the dependencies of a build are
    unknown before it. Raises ``HarnessError`` if the index does not answer.
    """
    required, words = requirements(engine, spec), options(engine, spec)
    if not required:
        return ""
    words += ["--no-deps"] * (_ALL_PACKAGES not in words) + ["--offline"] * offline
    answer = _compile(required, spec.python, *words)
    if answer.returncode == 0:
        return ""
    reason = _reason(answer)
    because = re.search(r"Because (.+?)(,? and |, we can conclude)", reason)
    return because[1] if because else reason


def releases(
    engine: Engine, python: Interpreter, specifiers: str = "", *, prereleases: bool = False
) -> Iterator[str]:
    """The releases for a Python that are not yanked, newest first. Raises ``HarnessError``."""
    words = ["--no-deps", "--prerelease", "allow" if prereleases else "disallow"]
    words += [] if engine.takes_archives else ["--only-binary", engine.package]
    older = specifiers
    while True:
        answer = _compile([f"{engine.package}{older}"], python, *words)
        version = answer.stdout.strip().partition("==")[2]
        if not version:
            return
        yield version
        older = ",".join(filter(None, (specifiers, f"<={version}", f"!={version}")))


def installed_pythons(cache: Cache) -> tuple[Interpreter, ...]:
    """The newest CPython of each supported minor version, newest first."""
    newest: dict[tuple[int, int], Interpreter] = {}
    for python in _pythons(cache):
        newest.setdefault(python.minor, python)
    return tuple(newest.values())


def find_python(request: str, cache: Cache, say: Callable[[str], None]) -> Interpreter:
    """Finds the Python of ``--python``, or downloads it by version. Raises ``UsageError``."""
    is_version = re.fullmatch(r"\d+(\.\d+){0,2}", request)
    if pythons := _pythons(cache, request if is_version else str(Path(request).absolute())):
        return pythons[0]
    if is_version and tuple(map(int, request.split(".")[:2])) >= OLDEST:
        return fetch_python(request, cache, say)
    raise UsageError(
        f"--python {request!r} is neither a version such as 3.10 nor the path of a CPython: "
        f"{'.'.join(map(str, OLDEST))} is the oldest that works."
    )


def fetch_python(version: str, cache: Cache, say: Callable[[str], None]) -> Interpreter:
    """Downloads a Python into the cache. Raises ``UsageError``."""
    say(f"fetching Python {version} (once)")
    folder = str(cache.root / "pythons")
    answer = ask("python", "install", "--no-bin", version, UV_PYTHON_INSTALL_DIR=folder)
    if answer.returncode == 0 and (pythons := _pythons(cache, version)):
        return pythons[0]
    raise UsageError(
        f"There is no Python {version} here, and it cannot be fetched: install it (uv python "
        f"install {version}, or pyenv install {version}), or name another one with --python.\n"
        f"{_reason(answer)}"
    )


def _pythons(cache: Cache, *request: str) -> list[Interpreter]:
    """The supported CPythons that are installed, newest first; only those of a request if given."""
    listing = ("--only-installed", "--output-format", "json")
    path = _search_path(cache)
    answer = ask("python", "list", *listing, *request, UV_PYTHON_SEARCH_PATH=path)
    if answer.returncode != 0 and not request:
        raise HarnessError(f"The Pythons here cannot be listed: {_reason(answer)}.")
    pythons = [
        Interpreter(entry["path"], entry["version"])
        for entry in json.loads(answer.stdout or "[]")
        if (entry["implementation"], entry["variant"]) == ("cpython", "default")
    ]
    usable = (python for python in pythons if python.minor >= OLDEST)
    return sorted(usable, key=lambda python: Version(python.version), reverse=True)


def _search_path(cache: Cache) -> str:
    """``PATH`` with pyenv's Pythons in place of its shims, and with downloaded Pythons."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    paths = os.environ.get("PATH", "").split(os.pathsep)
    folders = [folder for folder in paths if "shims" not in folder]
    for root in (pyenv / "versions", cache.root / "pythons"):
        with suppress(OSError):  # another user's
            folders += sorted(map(str, root.glob("*/bin")))
    return os.pathsep.join(folders)


def _pip_options() -> Mapping[str, str]:
    """pip's settings by name of the option. Raises ``UsageError``."""
    config = os.environ.get("PIP_CONFIG_FILE", "")
    parser = RawConfigParser(strict=False)
    if config != os.devnull:
        user, site = platformdirs.user_config_path("pip"), platformdirs.site_config_path("pip")
        folders = [site, Path("/etc"), Path.home() / ".pip", user, Path(sys.prefix)]
        try:
            parser.read([*(folder / "pip.conf" for folder in folders), config])
        except Error as error:
            raise UsageError(f"pip's settings cannot be read: {error}") from error
    sections = [parser[name] for name in ("global", "install") if name in parser]
    options = [item for section in sections for item in section.items()]
    # Variables override files.
    environ = os.environ.items()
    options += [(k.removeprefix("PIP_").lower(), v) for k, v in environ if k.startswith("PIP_")]
    return {name.replace("_", "-"): value for name, value in options}


def _compile(required: Sequence[str], python: Interpreter, *words: str) -> CommandOutput:
    """Resolves requirements for a Python with uv. Raises ``HarnessError``."""
    target = ("--python", sys.executable, "--python-version", python.minor_text)
    quiet = ("--no-header", "--no-annotate", "--quiet")
    with temporary_folder() as folder:
        file = folder / "requirements.in"
        file.write_text("".join(f"{line}\n" for line in required))
        answer = ask("pip", "compile", *target, *quiet, *words, str(file))
    # uv reports a request that the index refused as a missing package, with a hint.
    if answer.returncode not in (0, 1) or "\nhint: An index" in answer.stderr:
        raise HarnessError(
            f"The package index does not answer for {', '.join(required)}: {_reason(answer)}. "
            "Check the network, and the index in pip's settings."
        )
    return answer


def _reason(answer: CommandOutput) -> str:
    """Joins uv's error and its causes to a line."""
    if answer.returncode is None:
        return "uv did not end in time"
    lines = (line.strip().removeprefix("error: ") for line in answer.stderr.splitlines())
    reasons = [line for line in lines if line and not line.startswith(("hint:", "warning:"))]
    return ": ".join(line.removeprefix("cause: ").rstrip(".") for line in reasons)[:500]


def _name(requirement: str) -> str:
    return Requirement(requirement).name

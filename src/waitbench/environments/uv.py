"""Calls to uv, with the package index of pip's settings unless uv has its own."""

import os
import sys
from collections.abc import Mapping
from configparser import Error, RawConfigParser
from pathlib import Path

import platformdirs
from uv import find_uv_bin

from waitbench.model.errors import UsageError
from waitbench.system import processes, variables
from waitbench.system.places import Cache
from waitbench.system.processes import CommandOutput

_FROM_PIP = {
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
_ALWAYS = {
    # Environments with shared files would share memory, and could damage each other.
    "UV_LINK_MODE": "copy",
    # Otherwise the first run of a revision compiles its imports.
    "UV_COMPILE_BYTECODE": "1",
    "UV_NO_PROGRESS": "1",
    "UV_NO_WRAP": "1",
    "NO_COLOR": "1",
}
_TIME_LIMIT_S = 300


def command(*arguments: str) -> list[str]:
    """The arguments of a call, in a folder without a project's settings."""
    return [find_uv_bin(), "--directory", "/", *arguments]


def ask(*arguments: str, **more_variables: str) -> CommandOutput:
    env = {**variables.of_setup(), **settings(), **more_variables}
    return processes.ask(command(*arguments), time_limit_s=_TIME_LIMIT_S, env=env)


def reason(answer: CommandOutput) -> str:
    if answer.returncode is None:
        return "uv did not end in time"
    lines = (line.strip().removeprefix("error: ") for line in answer.stderr.splitlines())
    reasons = [line for line in lines if line and not line.startswith(("hint:", "warning:"))]
    return ": ".join(line.removeprefix("cause: ").rstrip(".") for line in reasons)[:500]


def settings() -> Mapping[str, str]:
    """uv's variables: pip's settings, except where the user has set uv."""
    # Not in the user's home, which may be missing or read-only.
    env = {"UV_CACHE_DIR": str(Cache().root / "uv")}
    for option, value in _pip_options().items():
        name, words = _FROM_PIP.get(option), value.split()
        if name and words:
            env[name] = ("," if name == "UV_FIND_LINKS" else " ").join(words)
    if "UV_INDEX" in env:
        # pip takes the best of all indexes, uv by default that of the first with the package.
        env["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return {name: value for name, value in env.items() if name not in os.environ} | _ALWAYS


def _pip_options() -> Mapping[str, str]:
    """pip's settings by option; variables override files. Raises ``UsageError``."""
    config = os.environ.get("PIP_CONFIG_FILE", "")
    parser = RawConfigParser(strict=False)
    if config != os.devnull:
        user, site = platformdirs.user_config_path("pip"), platformdirs.site_config_path("pip")
        folders = [site, Path("/etc"), Path.home() / ".pip", user, Path(sys.prefix)]
        try:
            parser.read([*(folder / "pip.conf" for folder in folders), config])
        except Error as error:
            raise UsageError(f"pip's settings cannot be read: {error}") from error
    sections = [dict(parser[name]) for name in ("global", "install") if name in parser]
    environ = os.environ.items()
    sections += [{k.removeprefix("PIP_").lower(): v for k, v in environ if k.startswith("PIP_")}]
    return {
        name.replace("_", "-"): value for options in sections for name, value in options.items()
    }

"""Calls uv, which finds Pythons, resolves requirements and installs them.

The package index is the one that pip is set to, by its variables and its files; uv's own variables
win over these.
"""

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
from waitbench.system.processes import Answer

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
_SEPARATORS = {"UV_FIND_LINKS": ","}
"""Of lists; elsewhere a space, as in pip."""
_ALWAYS = {
    # Environments that share files share memory, too, and one could damage another.
    "UV_LINK_MODE": "copy",
    # Else the first run of a revision compiles what it imports.
    "UV_COMPILE_BYTECODE": "1",
    "UV_NO_PROGRESS": "1",
    "UV_NO_WRAP": "1",
    "NO_COLOR": "1",
}
_TIME_LIMIT_S = 300


def command(*arguments: str) -> list[str]:
    """What calls uv; in a folder where no project's settings hold."""
    return [find_uv_bin(), "--directory", "/", *arguments]


def ask(*arguments: str, time_limit_s: float = _TIME_LIMIT_S, **more_variables: str) -> Answer:
    """Calls uv for what it says."""
    env = {**variables.of_setup(), **settings(), **more_variables}
    return processes.ask(command(*arguments), time_limit_s=time_limit_s, env=env)


def reason(answer: Answer) -> str:
    """Why uv failed, in one line."""
    if answer.returncode is None:
        return "uv did not end in time"
    lines = (line.strip().removeprefix("error: ") for line in answer.stderr.splitlines())
    said = [line for line in lines if line and not line.startswith(("hint:", "warning:"))]
    return ": ".join(line.removeprefix("cause: ").rstrip(".") for line in said)[:500]


def settings() -> Mapping[str, str]:
    """uv's variables: what pip is set to, where the user has not set uv."""
    # Not in the user's home, which may not be there, or read-only.
    found = {"UV_CACHE_DIR": str(Cache().root / "uv")}
    for option, value in _of_pip().items():
        name, words = _FROM_PIP.get(option), value.split()
        if name and words:
            found[name] = _SEPARATORS.get(name, " ").join(words)
    if "UV_INDEX" in found:
        # pip takes the best of all indexes, and uv that of the first which has the package.
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    own = {name: value for name, value in found.items() if name not in os.environ}
    return {**own, **_ALWAYS}


def _of_pip() -> Mapping[str, str]:
    """pip's settings by the names of its options; those of variables win over those of files."""
    named = os.environ.get("PIP_CONFIG_FILE", "")
    files = RawConfigParser(strict=False)
    if named != os.devnull:
        users, of_all = platformdirs.user_config_path("pip"), platformdirs.site_config_path("pip")
        folders = [of_all, Path("/etc"), Path.home() / ".pip", users, Path(sys.prefix)]
        try:
            files.read([*(folder / "pip.conf" for folder in folders), named])
        except Error as error:
            raise UsageError(f"pip's settings cannot be read: {error}") from error
    found: dict[str, str] = {}
    for section in ("global", "install"):
        if files.has_section(section):
            found |= {name.replace("_", "-"): value for name, value in files.items(section)}
    for name, value in os.environ.items():
        if name.startswith("PIP_"):
            found[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    return found

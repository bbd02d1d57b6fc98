"""hyperfine, the benchmark program: located or installed, called for one run, its exports read.

It is not on the Python index: the package of that name there is a physics library. From 1.13 on it
has ``--output inherit``, which waitbench needs. Both lines (1.x and 2.x) export JSON, of different
shapes. It is called for one run at a time: it does not interleave revisions.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join

from packaging.version import Version

from waitbench.model.errors import HarnessError
from waitbench.system import files
from waitbench.system.locks import locked
from waitbench.system.places import Cache
from waitbench.system.processes import run_logged

OLDEST = Version("1.13")
CARGO_VERSION = "1.20.0"
"""What is built where neither PATH nor apt has one."""


@dataclass(frozen=True)
class Hyperfine:
    """One hyperfine program."""

    path: str
    version: str

    def arguments(self, command: Sequence[str], export: Path) -> list[str]:
        """The argument list that runs ``command`` once, without a shell, and exports JSON.

        A command that fails is hyperfine's business only in the export: it is judged elsewhere,
        with its log.
        """
        return [
            self.path, "--runs", "1", "--warmup", "0", "--shell", "none", "--ignore-failure",
            "--style", "none", "--output", "inherit", "--export-json", str(export), "--",
            join(command),
        ]  # fmt: skip


def parse_export(text: str) -> tuple[float, int | None]:
    """The seconds and the exit code of one run, as hyperfine 1.x or 2.x exports them.

    Raises ``HarnessError``.
    """
    try:
        (result,) = json.loads(text)["results"]
        if "measurements" in result:
            (run,) = result["measurements"]
            return run["time_wall_clock"]["value"], run.get("exit_code")
        (real_s,) = result["times"]
        return real_s, (result.get("exit_codes") or [None])[0]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise HarnessError(
            f"hyperfine's export cannot be read ({error!r}): {text[:200]!r}"
        ) from error


def locate(cache: Cache, say: Callable[[str], None]) -> Hyperfine:
    """hyperfine from PATH if new enough, else from the cache, else installed there without root."""
    found = installed(cache)
    if found is not None:
        return found
    own = _own_program(cache)
    with locked(cache.lock_file("tools"), say):
        if not own.exists():
            _install(own, cache, say)
    found = _program_at(str(own))
    if found is None:
        raise HarnessError(f"{own} does not run. Delete it and try again. {_INSTRUCTION}")
    return found


def installed(cache: Cache) -> Hyperfine | None:
    """hyperfine from PATH if new enough, else from the cache; ``None`` if there is none yet."""
    own = _own_program(cache)
    for path in filter(None, (shutil.which("hyperfine"), str(own) if own.exists() else None)):
        found = _program_at(path)
        if found is not None:
            return found
    return None


def _own_program(cache: Cache) -> Path:
    return cache.root / "tools" / "bin" / "hyperfine"


_INSTRUCTION = (
    f"Install hyperfine ≥ {OLDEST} yourself (apt install hyperfine, brew install hyperfine, "
    "cargo install hyperfine); the Python package of that name is something else."
)


def _program_at(path: str) -> Hyperfine | None:
    try:
        asked = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except OSError:
        return None
    match = re.match(r"hyperfine (\d+\.\d+\.\d+)", asked.stdout)
    return Hyperfine(path, match[1]) if match and Version(match[1]) >= OLDEST else None


def _install(own: Path, cache: Cache, say: Callable[[str], None]) -> None:
    own.parent.mkdir(parents=True, exist_ok=True)
    log = cache.folder("logs") / "hyperfine.log"
    failures = []
    for needed, what, install in (
        ("apt-get", "Debian's archive", _from_apt),
        ("cargo", "source", _from_cargo),
    ):
        if shutil.which(needed) is None:
            failures.append(f"no {needed}")
            continue
        say(f"hyperfine: from {what}, into {cache.root / 'tools'}")
        try:
            install(own, cache, log)
            return
        except HarnessError as error:
            failures.append(f"{needed}: {str(error).splitlines()[-1]}")
    raise HarnessError(
        f"hyperfine is missing and could not be set up ({'; '.join(failures)}). {_INSTRUCTION}"
    )


def _from_apt(own: Path, cache: Cache, log: Path) -> None:
    folder = cache.folder("tools/apt")
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    # Lists of our own: the system's may be empty, and only root may update them.
    settings = (
        f"Dir::State::Lists={folder / 'lists'}",
        f"Dir::Cache={folder}",
        "APT::Sandbox::User=",
    )
    apt = ["apt-get", *(f"-o{setting}" for setting in settings)]
    run_logged([*apt, "update"], log)
    run_logged([*apt, "download", "hyperfine"], log, cwd=folder)
    package = next(folder.glob("hyperfine_*.deb"), None)
    if package is None:
        raise HarnessError("apt-get downloaded nothing")
    run_logged(["dpkg-deb", "--extract", str(package), str(folder / "unpacked")], log)
    unpacked = folder / "unpacked" / "usr" / "bin" / "hyperfine"
    if _program_at(str(unpacked)) is None:
        raise HarnessError(f"the archive's hyperfine is older than {OLDEST}")
    shutil.copy(unpacked, own)
    files.remove(folder)


def _from_cargo(own: Path, _cache: Cache, log: Path) -> None:
    release = ("--version", CARGO_VERSION, "--locked")
    run_logged(["cargo", "install", "hyperfine", *release, "--root", str(own.parent.parent)], log)

"""Locates or installs the program hyperfine, makes its arguments, and parses its exports.

Each call runs one command once, as hyperfine cannot interleave revisions. ``--output inherit``
needs 1.13. The JSON of 1.x and 2.x differs.
"""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join

from packaging.version import Version

from waitbench.model.errors import HarnessError
from waitbench.system import files
from waitbench.system.locks import locked
from waitbench.system.paths import Cache
from waitbench.system.processes import ask, run_logged

OLDEST = Version("1.13")
CARGO_VERSION = "1.20.0"


@dataclass(frozen=True)
class Hyperfine:
    """A hyperfine program that can be used."""

    path: str
    version: str

    def arguments(self, command: Sequence[str], export: Path) -> list[str]:
        """Makes the arguments that run ``command`` once, without a shell, and export JSON.

        A failing command does not make hyperfine fail: the export has its exit code.
        """
        return [
            self.path, "--runs", "1", "--warmup", "0", "--shell", "none", "--ignore-failure",
            "--style", "none", "--output", "inherit", "--export-json", str(export), "--",
            join(command),
        ]  # fmt: skip


def parse_export(text: str) -> tuple[float, int | None]:
    """Returns the real time in s, and the exit code, of the only run. Raises ``HarnessError``."""
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
    """Returns hyperfine from PATH or the cache, or installs it there. Raises ``HarnessError``."""
    if hyperfine := installed(cache):
        return hyperfine
    path = _cached_path(cache)
    with locked(cache.lock_file("tools"), say):
        if not path.exists():
            _install(path, cache, say)
    if hyperfine := _program_at(path):
        return hyperfine
    raise HarnessError(f"{path} does not run. Delete it and try again. {_INSTRUCTION}")


def installed(cache: Cache) -> Hyperfine | None:
    """Returns hyperfine from PATH if it is new enough, or else from the cache, if there."""
    on_path = shutil.which("hyperfine")
    return (_program_at(Path(on_path)) if on_path else None) or _program_at(_cached_path(cache))


def _cached_path(cache: Cache) -> Path:
    return cache.root / "tools" / "bin" / "hyperfine"


_INSTRUCTION = (
    f"Install hyperfine ≥ {OLDEST} yourself (apt install hyperfine, brew install hyperfine, "
    "cargo install hyperfine); the Python package of that name is something else."
)


def _program_at(path: Path) -> Hyperfine | None:
    try:
        answer = ask([str(path), "--version"], time_limit_s=30)
    except (OSError, ValueError):
        return None
    match = re.match(r"hyperfine (\d+\.\d+\.\d+)", answer.stdout)
    return Hyperfine(str(path), match[1]) if match and Version(match[1]) >= OLDEST else None


def _install(path: Path, cache: Cache, say: Callable[[str], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    log = cache.folder("logs") / "hyperfine.log"
    failures = []
    archive = ("apt-get", "Debian's archive", _install_from_apt)
    source = ("cargo", "source", _install_from_cargo)
    for program, origin, install in (archive, source):
        if shutil.which(program) is None:
            failures.append(f"no {program}")
            continue
        say(f"hyperfine: from {origin}, into {cache.root / 'tools'}")
        try:
            install(path, cache, log)
            return
        except HarnessError as error:
            failures.append(f"{program}: {str(error).splitlines()[-1]}")
    raise HarnessError(
        f"hyperfine is missing and could not be set up ({'; '.join(failures)}). {_INSTRUCTION}"
    )


def _install_from_apt(path: Path, cache: Cache, log: Path) -> None:
    folder = cache.folder("tools/apt")
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    # Package lists in the cache: the system's may be empty, and only root may update them.
    lists, archives = f"Dir::State::Lists={folder / 'lists'}", f"Dir::Cache={folder}"
    apt = ["apt-get", f"-o{lists}", f"-o{archives}", "-oAPT::Sandbox::User="]
    run_logged([*apt, "update"], log)
    run_logged([*apt, "download", "hyperfine"], log, cwd=folder)
    package = next(folder.glob("hyperfine_*.deb"), None)
    if package is None:
        raise HarnessError("apt-get downloaded nothing")
    run_logged(["dpkg-deb", "--extract", str(package), str(folder / "unpacked")], log)
    unpacked = folder / "unpacked" / "usr" / "bin" / "hyperfine"
    if _program_at(unpacked) is None:
        raise HarnessError(f"the archive's hyperfine is older than {OLDEST}")
    unpacked.replace(path)
    files.remove(folder)


def _install_from_cargo(path: Path, _cache: Cache, log: Path) -> None:
    release = ("--version", CARGO_VERSION, "--locked")
    run_logged(["cargo", "install", "hyperfine", *release, "--root", str(path.parent.parent)], log)

"""Wheels of releases from the package index, by pip, so that the user's own settings hold.

Of a release of which the index has a source archive only, the wheel may be made here from that. So
is the wheel of everybody who installs it: nothing is compiled that an index would have compiled
otherwise.
"""

import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from waitbench.engines.base import ARCHIVE, WHEEL, Engine
from waitbench.environments import sources
from waitbench.model.environment import Interpreter
from waitbench.model.errors import HarnessError
from waitbench.system.places import Cache
from waitbench.system.processes import BUILD_S, ask

_ABSENCE_HOLDS_S = 86_400
_TIME_LIMIT_S = 300

_NO_SUCH_PACKAGE = re.compile(r"\b404\b.*(Not Found|Client Error)", re.IGNORECASE)
_COMPLAINT = re.compile(
    r"Could not fetch|Client Error|Server Error|Retrying|Skipping page|timed out|NOT MATCH THE HASH"
)

_WHEEL = re.compile(r"Found link \S+\.whl\b.*, version: (\S+)$", re.MULTILINE)
_ARCHIVE = re.compile(r"Found link \S+\.(?:tar\.gz|zip)\b.*, version: (\S+)$", re.MULTILINE)
_BUILD_FAILED = re.compile(r"subprocess-exited-with-error|Failed (?:building|to build)", re.I)


@dataclass(frozen=True)
class Index:
    """One package on the index, with the wheels had from it kept in the cache."""

    package: str
    cache: Cache
    files: tuple[str, ...] = (WHEEL,)
    """``Engine.files``."""

    def wheel(self, version: str, python: Interpreter) -> Path | None:
        """The wheel of a release for a Python, had or made if need be; ``None`` if there is none.

        That there is none is remembered for a day, as releases rarely gain wheels; but only if the
        index named other files of the package: a page of an error, or of a captive portal, says
        nothing of it. Raises ``HarnessError`` where it does not answer, or a source archive does
        not become a wheel.
        """
        folder = self.cache.folder("wheels") / f"{self.package}-{version}-{python.tag}"
        found = sources.find_wheel(folder)
        if found is not None:
            return found
        absent = folder.with_name(f"{folder.name}-{'-'.join(self.files)}.absent")
        if absent.exists() and time.time() - absent.stat().st_mtime < _ABSENCE_HOLDS_S:
            return None
        with tempfile.TemporaryDirectory(dir=self.cache.folder("wheels")) as partial:
            for kind in self.files:
                had = self._download if kind == WHEEL else self._make
                code, said = had(version, python, Path(partial))
                downloaded = sorted(Path(partial).glob("*.whl"))
                if code == 0 and downloaded:
                    return sources.keep_wheel(downloaded[0], folder)
                if "No matching distribution" not in said:
                    break
        if self._names_files(said) and "No matching distribution" in said:
            absent.touch()
            return None
        if _has_no_package(said):
            return None
        if kind == ARCHIVE and _BUILD_FAILED.search(said):
            raise HarnessError(
                f"The source archive of {self.package} {version} does not become a wheel: "
                f"{_build_error(said)}"
            )
        raise self._no_answer(f"{self.package} {version}", said)

    def releases(self, python: Interpreter, *, prereleases: bool = False) -> tuple[str, ...]:
        """The versions that there are for a Python and that are not yanked, oldest first.

        Raises ``HarnessError`` where the index does not answer, or one of several does not.
        """
        pre = ["--pre"] if prereleases else []
        which = () if ARCHIVE in self.files else _wheels_for(python)
        command = ["index", "versions", *pre, *which]
        code, said = self._pip(command, self.package, python if ARCHIVE in self.files else None)
        listed = re.search(r"^Available versions: (.+)$", said, re.MULTILINE)
        if self._names_files(said) and listed and code == 0:
            # It lists sources, too, whatever it is told.
            links = {WHEEL: _WHEEL, ARCHIVE: _ARCHIVE}
            there = {Version(text) for kind in self.files for text in links[kind].findall(said)}
            versions = sorted(listed[1].split(", "), key=Version)
            return tuple(version for version in versions if Version(version) in there)
        if _has_no_package(said) or (
            self._names_files(said) and "No matching distribution" in said
        ):
            return ()
        raise self._no_answer(self.package, said)

    def _download(self, version: str, python: Interpreter, target: Path) -> tuple[int, str]:
        """Has pip download a wheel; its exit code, and all that it says."""
        which = ["--no-deps", *_wheels_for(python), "--dest", str(target)]
        return self._pip(["download", *which], f"{self.package}=={version}")

    def _make(self, version: str, python: Interpreter, target: Path) -> tuple[int, str]:
        """Has pip make a wheel of a source archive, on that Python; as ``_download``."""
        # pip's own cache would keep the archive and the wheel once more each.
        options = ["--no-deps", "--no-cache-dir", "--no-binary", self.package]
        which = [*options, "--wheel-dir", str(target)]
        return self._pip(["wheel", *which], f"{self.package}=={version}", python, BUILD_S)

    def _pip(
        self,
        command: Sequence[str],
        wanted: str,
        on: Interpreter | None = None,
        limit_s: float = _TIME_LIMIT_S,
    ) -> tuple[int, str]:
        """Its exit code, and all that it says. Raises ``HarnessError`` if it does not end.

        ``on`` is the Python that it is to run on, instead of this one.
        """
        pip = [sys.executable, "-m", "pip", *(["--python", on.executable] if on else [])]
        done = ask([*pip, *command, "-vv", wanted], time_limit_s=limit_s)
        if done.returncode is None:
            raise HarnessError(f"pip was not done with {wanted} within {limit_s:g} s.")
        return done.returncode, done.stdout + done.stderr

    def _names_files(self, said: str) -> bool:
        """Whether what answered is an index that has files of the package, and all of it did."""
        # A file may be named with other hyphens than its package.
        name = "[-_.]+".join(map(re.escape, re.split(r"[-_.]+", self.package)))
        a_file = rf"(Found|Skipping) link.*\b{name}[-_]"
        # One index may answer, or a folder of the user's, where another does not.
        return bool(re.search(a_file, said, re.IGNORECASE)) and not _COMPLAINT.search(said)

    def _no_answer(self, wanted: str, said: str) -> HarnessError:
        # Not "the index has none" but "it was not reached", or something else answered for it.
        return HarnessError(
            f"The package index does not answer for {wanted}: {_reason(said)}. Is the network "
            "there, and the index that pip is set to?"
        )


def index_of(engine: Engine, cache: Cache) -> Index:
    """An engine's package on the index."""
    return Index(engine.package, cache, engine.files)


def _wheels_for(python: Interpreter) -> tuple[str, ...]:
    """Options by which pip looks for wheels only, those that fit a Python."""
    return "--only-binary", ":all:", "--python-version", python.minor_text


def _has_no_package(said: str) -> bool:
    return "No matching distribution" in said and bool(_NO_SUCH_PACKAGE.search(said))


def _build_error(text: str) -> str:
    """What a build raised at the last, or else the end of what pip says."""
    raised = re.findall(r"^\s*(\w+(?:Error|Exception)\b.*)$", text, re.MULTILINE)
    return raised[-1][:300] if raised else "\n".join(text.strip().splitlines()[-10:])


def _reason(text: str) -> str:
    """What pip says of an index that does not answer as one does."""
    complaints = [line.strip() for line in text.splitlines() if _COMPLAINT.search(line)]
    return complaints[0][:300] if complaints else "what it says names no file of the package"

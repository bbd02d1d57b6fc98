"""Wheels of releases from the package index, by pip, so that the user's own settings hold."""

import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from waitbench.environments import kept_wheels
from waitbench.model.environment import Interpreter
from waitbench.model.errors import HarnessError
from waitbench.system.places import Cache
from waitbench.system.processes import ask

_ABSENCE_HOLDS_S = 86_400
_TIME_LIMIT_S = 300

_NO_SUCH_PACKAGE = re.compile(r"\b404\b.*(Not Found|Client Error)", re.IGNORECASE)
_COMPLAINT = re.compile(
    r"Could not fetch|Client Error|Server Error|Retrying|Skipping page|timed out|NOT MATCH THE HASH"
)

_WHEEL = re.compile(r"Found link \S+\.whl\b.*, version: (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Index:
    """One package on the index, with the wheels had from it kept in the cache."""

    package: str
    cache: Cache

    def wheel(self, version: str, python: Interpreter) -> Path | None:
        """The wheel of a release for a Python, downloaded if need be; ``None`` if there is none.

        That there is none is remembered for a day, as releases rarely gain wheels; but only if the
        index named other files of the package: a page of an error, or of a captive portal, says
        nothing of it. Raises ``HarnessError`` where it does not answer.
        """
        folder = self.cache.folder("wheels") / f"{self.package}-{version}-{python.tag}"
        found = kept_wheels.find(folder)
        if found is not None:
            return found
        absent = folder.with_name(f"{folder.name}.absent")
        if absent.exists() and time.time() - absent.stat().st_mtime < _ABSENCE_HOLDS_S:
            return None
        with tempfile.TemporaryDirectory(dir=self.cache.folder("wheels")) as partial:
            code, said = self._download(version, python, Path(partial))
            downloaded = sorted(Path(partial).glob("*.whl"))
            if code == 0 and downloaded:
                return kept_wheels.keep(downloaded[0], folder)
        if self._names_files(said) and "No matching distribution" in said:
            absent.touch()
            return None
        if _has_no_package(said):
            return None
        raise self._no_answer(f"{self.package} {version}", said)

    def releases(self, python: Interpreter, *, prereleases: bool = False) -> tuple[str, ...]:
        """The versions that have a wheel for a Python and are not yanked, oldest first.

        Raises ``HarnessError`` where the index does not answer, or one of several does not.
        """
        pre = ["--pre"] if prereleases else []
        code, said = self._pip(["index", "versions", *pre, *_wheels_for(python)], self.package)
        listed = re.search(r"^Available versions: (.+)$", said, re.MULTILINE)
        if self._names_files(said) and listed and code == 0:
            # It lists sources, too, whatever it is told.
            wheels = set(map(Version, _WHEEL.findall(said)))
            versions = sorted(listed[1].split(", "), key=Version)
            return tuple(version for version in versions if Version(version) in wheels)
        if _has_no_package(said) or (
            self._names_files(said) and "No matching distribution" in said
        ):
            return ()
        raise self._no_answer(self.package, said)

    def _download(self, version: str, python: Interpreter, target: Path) -> tuple[int, str]:
        """Has pip download a wheel; its exit code, and all that it says."""
        which = ["--no-deps", *_wheels_for(python), "--dest", str(target)]
        return self._pip(["download", *which], f"{self.package}=={version}")

    def _pip(self, command: Sequence[str], wanted: str) -> tuple[int, str]:
        """Its exit code, and all that it says. Raises ``HarnessError`` if it does not end."""
        done = ask(
            [sys.executable, "-m", "pip", *command, "-vv", wanted], time_limit_s=_TIME_LIMIT_S
        )
        if done.returncode is None:
            raise HarnessError(
                f"The package index did not answer for {wanted} within {_TIME_LIMIT_S} s."
            )
        return done.returncode, done.stdout + done.stderr

    def _names_files(self, said: str) -> bool:
        """Whether what answered is an index that has files of the package, and all of it did."""
        a_file = rf"(Found|Skipping) link.*\b{re.escape(self.package)}[-_]"
        # One index may answer, or a folder of the user's, where another does not.
        return bool(re.search(a_file, said, re.IGNORECASE)) and not _COMPLAINT.search(said)

    def _no_answer(self, wanted: str, said: str) -> HarnessError:
        # Not "the index has none" but "it was not reached", or something else answered for it.
        return HarnessError(
            f"The package index does not answer for {wanted}: {_reason(said)}. Is the network "
            "there, and the index that pip is set to?"
        )


def _wheels_for(python: Interpreter) -> tuple[str, ...]:
    """Options by which pip looks for wheels only, those that fit a Python."""
    return "--only-binary", ":all:", "--python-version", python.minor_text


def _has_no_package(said: str) -> bool:
    return "No matching distribution" in said and bool(_NO_SUCH_PACKAGE.search(said))


def _reason(text: str) -> str:
    """What pip says of an index that does not answer as one does."""
    complaints = [line.strip() for line in text.splitlines() if _COMPLAINT.search(line)]
    return complaints[0][:300] if complaints else "what it says names no file of the package"

"""Wheels of releases from the package index, by pip, so that the user's own settings hold."""

import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

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
        a_file = rf"(Found|Skipping) link.*\b{re.escape(self.package)}[-_]"
        names_files = re.search(a_file, said, re.IGNORECASE)
        # One index may answer, or a folder of the user's, where another does not.
        is_whole = names_files and not _COMPLAINT.search(said)
        if "No matching distribution" in said and is_whole:
            absent.touch()
            return None
        if "No matching distribution" in said and _NO_SUCH_PACKAGE.search(said):
            return None
        # Not "the index has none" but "it was not reached", or something else answered for it.
        raise HarnessError(
            f"The package index does not answer for {self.package} {version}: "
            f"{_reason(said)}. Is the network there, and the index that pip is set to?"
        )

    def _download(self, version: str, python: Interpreter, target: Path) -> tuple[int, str]:
        """Has pip download a wheel; its exit code, and all that it says."""
        pip = [sys.executable, "-m", "pip", "download", "-vv", "--no-deps"]
        which = ["--only-binary", ":all:", "--python-version", python.minor_text]
        wanted = ["--dest", str(target), f"{self.package}=={version}"]
        done = ask([*pip, *which, *wanted], time_limit_s=_TIME_LIMIT_S)
        if done.returncode is None:
            raise HarnessError(
                f"The package index did not answer for {self.package} {version} within "
                f"{_TIME_LIMIT_S} s."
            )
        return done.returncode, done.stdout + done.stderr


def _reason(text: str) -> str:
    """What pip says of an index that does not answer as one does."""
    complaints = [line.strip() for line in text.splitlines() if _COMPLAINT.search(line)]
    return complaints[0][:300] if complaints else "what it says names no file of the package"

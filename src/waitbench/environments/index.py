"""Wheels of releases from the package index, by pip, so that the user's own settings hold."""

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from waitbench.model.environment import Interpreter
from waitbench.model.errors import HarnessError
from waitbench.system.places import Cache

_ABSENCE_HOLDS_S = 86_400
_TIME_LIMIT_S = 300


@dataclass(frozen=True)
class Index:
    """One package on the index, with the wheels had from it kept in the cache."""

    package: str
    cache: Cache

    def wheel(self, version: str, python: Interpreter) -> Path | None:
        """The wheel of a release for a Python, downloaded if need be; ``None`` if there is none.

        That there is none is remembered for a day: releases rarely gain wheels.
        """
        folder = self.cache.folder("wheels") / f"{self.package}-{version}-{python.tag}"
        found = sorted(folder.glob("*.whl"))
        if found:
            return found[0]
        absent = folder.with_name(f"{folder.name}.absent")
        if absent.exists() and time.time() - absent.stat().st_mtime < _ABSENCE_HOLDS_S:
            return None
        with tempfile.TemporaryDirectory(dir=self.cache.folder("wheels")) as partial:
            completed = subprocess.run(
                [
                    sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
                    "--python-version", python.minor_text, "--dest", partial,
                    f"{self.package}=={version}",
                ],
                capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False,
            )  # fmt: skip
            downloaded = sorted(Path(partial).glob("*.whl"))
            if completed.returncode == 0 and downloaded:
                folder.mkdir(exist_ok=True)
                return downloaded[0].replace(folder / downloaded[0].name)
        if (
            "No matching distribution" not in completed.stderr
            or "Retrying (Retry(" in completed.stderr
        ):
            # Not "the index has none" but "it was not reached", or something else: not remembered.
            raise HarnessError(
                f"The package index does not answer for {self.package} {version}: "
                f"{_last_error(completed.stderr)}"
            )
        absent.touch()
        return None


def _last_error(text: str) -> str:
    errors = [line for line in text.splitlines() if line.startswith("ERROR")]
    return (errors or text.strip().splitlines() or ["pip failed"])[-1].removeprefix("ERROR: ")

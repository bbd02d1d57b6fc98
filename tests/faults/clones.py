"""A clone of the project for tests that break things: with a cache of its own, to throw away."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from tests import standin
from tests.commands.processes import records_in
from tests.running import processes_with
from waitbench.execution.hyperfine import locate
from waitbench.system.paths import ROOT, Cache

_COPIED = (
    "src", "dataflows", "compare.sh", "plot.sh", "waitbench", "runner.py",
    "requirements.txt", "requirements-dev.txt", "tests/__init__.py",
    "tests/standin.py", "tests/runner_with_standin.py",
)  # fmt: skip

PYTHON = """#!/bin/sh
# The Python of this test; where the command line is meant, the one that knows the stand-in.
case "$3" in
  */runner.py)
    runner=${{3%/*}}/tests/runner_with_standin.py; shift 3; exec {python} -I "$runner" "$@" ;;
esac
exec {python} "$@"
"""

GONE_WITHIN_S = 10
QUICK = ("-s", "dynamic")
"""A comparison of one scenario, of as few runs as there can be."""


@dataclass(frozen=True)
class Clone:
    """A folder with the project in it, set up, and nothing measured yet."""

    root: Path

    @property
    def cache(self) -> Path:
        return self.root / ".bench"

    def start(
        self,
        *arguments: object,
        command: str = "compare",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> "subprocess.Popen[str]":
        """Begins a command, as a user would, by default in the clone's folder."""
        # A shell has what it starts in the background ignore SIGINT, and that is inherited.
        program = ["env", "--default-signal=INT", str(self.root / "waitbench"), command]
        return subprocess.Popen(
            [*program, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="surrogateescape",
            cwd=cwd or self.root,
            env={**_inherited(), "COLUMNS": "80", "BENCH_INSTRUMENTS": "off", **(env or {})},
        )

    def run(
        self,
        *arguments: object,
        command: str = "compare",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Carries out a command."""
        process = self.start(*arguments, command=command, env=env, cwd=cwd)
        stdout, stderr = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def wheel(self, name: str, behaviour: str = "ok", label: str = "") -> str:
        """A wheel of the stand-in, as it is named on the command line."""
        return standin.revision(self.root / "wheels" / name, behaviour, label)

    def left(self) -> list[str]:
        """What is still there, seconds after its end: processes started here, folders of runs."""
        end = time.monotonic() + GONE_WITHIN_S
        while (found := self._running()) and time.monotonic() < end:
            time.sleep(0.02)
        return found

    def _running(self) -> list[str]:
        here = str(self.root)
        found = [str(folder) for folder in (self.cache / "temporary").glob("*")]
        return found + [str(one) for one in processes_with(here)]


def make(root: Path) -> Clone:
    """Lays out a clone, with what is not to be downloaded again."""
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
    for name in _COPIED:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, root / name)
    clone = Clone(root)
    tools, venv = clone.cache / "tools" / "bin", clone.cache / "venv"
    for folder in (tools, venv / "bin"):
        folder.mkdir(parents=True)
    shutil.copy(locate(Cache(), lambda _what: None).path, tools / "hyperfine")
    python = venv / "bin" / "python"
    python.write_text(PYTHON.format(python=quote(sys.executable)))
    python.chmod(0o755)
    stamp = (
        'printf %s "$(cat requirements*.txt src/setup.sh | cksum) $(pwd -P)" >.bench/venv/$1.stamp'
    )
    subprocess.run(["sh", "-c", stamp, "sh", "requirements.txt"], cwd=root, check=True)
    return clone


def _inherited() -> dict[str, str]:
    """The environment of this test, without what makes Python behave otherwise than it would."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def rounds_in(folder: Path) -> dict[str, list[int]]:
    """The rounds that were measured, by label."""
    return {
        label: [run.round for run in record.of(label)]
        for record in records_in(folder)
        for label in record.context.labels
    }

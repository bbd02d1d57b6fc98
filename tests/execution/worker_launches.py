"""Launches a worker that is a command, and tells what came of it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
import pytest

from tests.counting import counts_events
from waitbench.engines.worker import file as worker_file
from waitbench.engines.worker import launched
from waitbench.engines.worker.scenarios import scenarios_of
from waitbench.execution.bench import _LAUNCH
from waitbench.execution.launch_report import PROBES
from waitbench.system.instruments import find_system_calls

COUNTER = find_system_calls()
needs_events = pytest.mark.skipif(not counts_events(), reason="the kernel does not count here")
SLEEPS = "import time\nprint('up')\nwhile True: time.sleep(1)"
CALM = (
    "window = 0.4\nready = { log = 'up', within = 20 }\nsettled = { seconds = 0.1 }\n"
    "stop_within = 20\n"
)
"""It is ready when it says so: no load of the machine changes what is found."""


@dataclass(frozen=True)
class Launched:
    """What came of one launch."""

    exit_code: int
    failure: str
    worker: Mapping[str, Any]
    """What the launcher reports."""

    def rise(self, key: str) -> float:
        """By how much a reading rose within the window."""
        return float(self.worker["marks"]["end"][key] - self.worker["marks"]["begin"][key])


def launch(
    folder: Path,
    code: str,
    more: str = CALM,
    running: Mapping[str, Any] = MappingProxyType({}),
    command: str = "{revision} code.py {port}",
    program: Sequence[str] = ("-I", "-S", str(_LAUNCH)),
    copies: int = 1,
    tracepoint: int | None = None,
) -> Launched:
    """Runs a worker that is a program of Python, as its file says; asserts that nothing is left."""
    (folder / "code.py").write_text(code)
    (folder / "mine.toml").write_text(f'command = "{command}"\nfiles = ["code.py"]\n{more}')
    worker = worker_file.read(folder / "mine.toml")
    told = launched(worker, scenarios_of(worker)[0].parameters)
    run = folder / "run"
    (run / "probes").mkdir(parents=True)
    with (run / "stdout").open("wb") as stdout, (run / "stderr").open("wb") as stderr:
        done = subprocess.run(
            [
                sys.executable,
                *program,
                str(run / "launched.json"),
                json.dumps(
                    {
                        **told,
                        "copies": copies,
                        "running": dict(running),
                        "tracepoint": tracepoint,
                        "python": sys.executable,
                        "revision": sys.executable,
                    }
                ),
            ],
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, PROBES: str(run / "probes"), "TEST_RUN": str(run)},
            timeout=60,
            check=False,
            start_new_session=True,
        )
    assert not left(run)
    failure, report = run / "failure", run / "launched.json"
    assert failure.exists() != report.exists(), (run / "stderr").read_text()
    return Launched(
        exit_code=done.returncode,
        failure=failure.read_text() if failure.exists() else "",
        worker=json.loads(report.read_text()) if report.exists() else {},
    )


def left(run: Path) -> list[psutil.Process]:
    """Processes of a run that are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TEST_RUN") == str(run):
                found.append(process)
        except psutil.Error:
            continue
    return found

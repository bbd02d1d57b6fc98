"""Comparisons in the background, and what they leave behind."""

import json
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.conftest import program


def start(*arguments: object) -> subprocess.Popen[str]:
    given = ["compare", *map(str, arguments)]
    return subprocess.Popen(
        [*program(given), *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def kept_runs(folder: Path, scenario: str) -> list[dict[str, object]]:
    """The runs that are on disk, finished comparison or not."""
    journal = folder / f"{scenario}.runs.jsonl"
    if not journal.exists():
        return []
    lines = [json.loads(line) for line in journal.read_text().splitlines() if line.strip()]
    return [line for line in lines if "label" in line]


def wait_for_runs(folder: Path, scenario: str, count: int) -> None:
    """Blocks until so many runs are on disk; fails after a minute."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if len(kept_runs(folder, scenario)) >= count:
            return
        time.sleep(0.05)
    pytest.fail("not as many runs after a minute")


def orphans() -> list[int]:
    """Processes of runs whose harness is gone: a run's folder names the harness's process."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            folder = process.environ().get("BENCH_PROBE_DIR")
            if not folder or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if not psutil.pid_exists(int(Path(folder).parent.name)):
                found.append(process.pid)
    return found

"""Comparisons in the background, and what they leave behind."""

import subprocess
from contextlib import suppress
from pathlib import Path

import psutil

from tests.conftest import PROGRAM
from tests.waiting import until
from waitbench.model.run import Measurement
from waitbench.store import comparisons


def start(*arguments: object) -> subprocess.Popen[str]:
    given = ["compare", *map(str, arguments)]
    return subprocess.Popen(
        # A shell has what it starts in the background ignore SIGINT, and that is inherited.
        ["env", "--default-signal=INT", *PROGRAM, *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kept_runs(folder: Path, scenario: str) -> list[Measurement]:
    """The measurements that are on disk and stand, whether or not the comparison is finished."""
    found = comparisons.resume(folder)
    records = found.records if found else ()
    return [run for r in records if r.scenario == scenario for run in r.measurements]


def wait_for_runs(folder: Path, scenario: str, count: int) -> None:
    """Blocks until so many runs are on disk.

    Those of a round that is repeated, because the machine did something else, do not count.
    """
    until(lambda: len(kept_runs(folder, scenario)) >= count, each_s=0.05)


def orphans() -> list[int]:
    """Processes of runs whose harness is gone: a run's folder names the harness's process."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ValueError):  # another test's folder may have any name
            folder = process.environ().get("BENCH_PROBE_DIR")
            if not folder or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if not psutil.pid_exists(int(Path(folder).parent.name.partition("-")[0])):
                found.append(process.pid)
    return found

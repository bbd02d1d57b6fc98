"""Comparisons in the background, and what they leave behind."""

import subprocess
from pathlib import Path

from tests.conftest import PROGRAM
from tests.waiting import until
from waitbench.model.record import ScenarioResults
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


def wait_for_runs(folder: Path, count: int) -> None:
    """Blocks until so many runs are on disk.

    Those of a round that is repeated, because the machine did something else, do not count.
    """
    until(lambda: sum(len(one.measurements) for one in records_in(folder)) >= count, each_s=0.05)


def records_in(folder: Path) -> list[ScenarioResults]:
    """What a folder of results holds, however its comparison ended."""
    found = comparisons.read_begun(folder)
    return list(found.records) if found else []

"""Runs one service, counts it with all that it starts, and ends all of that with it.

The kernel counts the CPU time of everything that the service starts, whether it still lives or not,
and the launcher adopts what it leaves behind. The report is a pipe: a line has the service's
process and the name under which its CPU time is told, in ns: system/counters.py. The service is
told to end by SIGTERM, and is killed as soon as the standard input ends.
"""

import os
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.system.counters import answering

ENDS_WITHIN_S = 10.0
"""After SIGTERM; then it is killed."""


class ServiceLaunch:
    """One run of a service."""

    def __init__(self, report: Path, plain: Mapping[str, Any], tree: CountedTree) -> None:
        self.report = report
        self.words: Sequence[str] = plain["service"]
        self.tree = tree
        self.told: list[int] = []
        """The signals that tell it to end."""

    def run(self) -> int:
        """Returns its exit code, or 128 + N where signal N has killed it."""
        signal.signal(signal.SIGTERM, lambda number, _frame: self.told.append(number))
        program = shutil.which(self.words[0]) or self.words[0]
        self.tree.start(Command(program, self.words, os.environ, Path.cwd()))
        with answering(lambda: round(self.tree.cpu_s() * 1e9)) as name:
            self.report.write_text(f"{self.tree.pids[0]} {name}\n")
            self._wait()
        self.tree.kill_all()
        code = self.tree.ended.get(self.tree.pids[0], 0)
        return code if code >= 0 else 128 - code

    def _wait(self) -> None:
        """Until the service has ended, or is to be killed."""
        end_s: float | None = None
        while self.tree.reap() and not self.tree.codes:
            if self.told and end_s is None:
                self.tree.signal(signal.SIGTERM)
                end_s = time.monotonic() + ENDS_WITHIN_S
            left_s = None if end_s is None else max(0.0, end_s - time.monotonic())
            if self.tree.wait(left_s, 0) or left_s == 0:
                return

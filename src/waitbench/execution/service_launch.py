"""Runs one service, counts it with all that it starts, and ends all of that with it.

The kernel counts the CPU time of everything that the service starts, whether it still lives or not,
and the launcher adopts what it leaves behind. The report is a pipe: a line has the service's
process and the name under which its CPU time is told, in ns: system/counters.py. SIGTERM ends the
service and the launcher, ``STOP`` the service only, which ``START`` starts again: it is the same
one, by its port, folder and CPU time. It is killed as soon as the standard input ends.
"""

import os
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.system.counters import answering

ENDS_WITHIN_S = 10.0
"""After SIGTERM; then it is killed."""
STOP, START = signal.SIGUSR1, signal.SIGUSR2
"""The signals by which a launcher is asked to end its service and to start it again."""


class ServiceLaunch:
    """One run of a service."""

    def __init__(self, report: Path, plain: Mapping[str, Any], tree: CountedTree) -> None:
        self.report = report
        self.words: Sequence[str] = plain["service"]
        self.tree = tree
        self.orders: list[int] = []
        """The signals that were sent to it and have not been heeded."""

    def run(self) -> int:
        """Returns its exit code, or 128 + N where signal N has killed it."""
        for number in (signal.SIGTERM, STOP, START):
            signal.signal(number, lambda number, _frame: self.orders.append(number))
        # Else it would preempt a worker on its CPU that asks it, which then has its answer before
        # it would have slept: wake-ups would depend on where the kernel puts both.
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        self._start()
        with answering(lambda: round(self.tree.cpu_s() * 1e9)) as name:
            self.report.write_text(f"{self.tree.pids[0]} {name}\n")
            self._serve()
        self.tree.kill_all()
        code = self.tree.ended.get(self.tree.pids[-1], 0)
        return code if code >= 0 else 128 - code

    def _serve(self) -> None:
        """Until the service has ended by itself, was told to, or is to be killed."""
        is_stopped = False
        while True:
            order = self.orders.pop(0) if self.orders else None
            if order in (STOP, signal.SIGTERM):
                self._end()
                is_stopped = True
            elif order == START:
                self._start()
                is_stopped = False
            if order == signal.SIGTERM or (self._has_ended() and not is_stopped):
                return
            if order is None and self.tree.wait(None, 0):
                return

    def _start(self) -> None:
        program = shutil.which(self.words[0]) or self.words[0]
        self.tree.start(Command(program, self.words, os.environ, Path.cwd()))

    def _end(self) -> None:
        """Ends the service and all that it has started."""
        self.tree.signal(signal.SIGTERM)
        end_s = time.monotonic() + ENDS_WITHIN_S
        while not self._has_ended():
            left_s = end_s - time.monotonic()
            if left_s <= 0 or self.tree.wait(left_s, 0):
                break
        self.tree.kill_all()

    def _has_ended(self) -> bool:
        return not self.tree.reap() or self.tree.pids[-1] in self.tree.ended

"""Runs one service, counts it with all that it starts, and ends all of that with it.

The kernel counts the CPU time of everything that the service starts, whether it still lives or not,
and the launcher adopts what it leaves behind. The report is a pipe: when the service is ready, a
line of JSON has its process and the names under which two numbers are told (system/counters.py),
its CPU time in ns and whether it is up; or else why it is not ready. SIGTERM ends the service and
the launcher, ``STOP`` the service only, which ``START`` starts again: it is the same one, by its
port, folder and CPU time. It is killed as soon as the standard input ends.
"""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from waitbench.execution.conditions import ConditionLaunch, describe_exit
from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import Failure
from waitbench.system.counters import answering

ENDS_WITHIN_S = 10.0
"""After SIGTERM; then it is killed."""
STOP, START = signal.SIGUSR1, signal.SIGUSR2
"""The signals by which a launcher is asked to end its service and to start it again."""


class ServiceLaunch(ConditionLaunch):
    """One run of a service."""

    watched = (0,)

    def __init__(self, report: Path, plain: Mapping[str, Any], tree: CountedTree) -> None:
        self.service = plain["service"]
        log = Path(self.service["log"])
        super().__init__(tree, [log], log.with_suffix(".called"))
        self.report = report
        self.orders: list[int] = []
        """The signals that were sent to it and have not been heeded."""
        self.is_up = False
        """Whether it is ready, and was not told to end."""

    def run(self) -> int:
        """Returns its exit code, or 128 + N where signal N has killed it."""
        for number in (signal.SIGTERM, STOP, START):
            signal.signal(number, lambda number, _frame: self.orders.append(number))
        # Else it would preempt a worker on its CPU that asks it, which then has its answer before
        # it would have slept: wake-ups would depend on where the kernel puts both.
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        # What the service leaves behind is not to hold the pipe open.
        os.set_inheritable(int(self.report.name), False)
        try:
            self._start()
        except Failure as failure:
            self._say(why=str(failure))
            return 1
        with (
            answering(lambda: round(self.tree.cpu_s() * 1e9)) as cpu,
            answering(lambda: int(self.is_up)) as up,
        ):
            self._say(pid=self.tree.pids[0], cpu=cpu, up=up)
            try:
                self._serve()
            except Failure as failure:
                sys.stderr.write(f"{failure}\n")
                return 1
        self.tree.kill_all()
        code = self.tree.ended.get(self.tree.pids[-1], 0)
        return code if code >= 0 else 128 - code

    def _say(self, **fields: object) -> None:
        self.report.write_text(f"{json.dumps(fields)}\n")

    def command(self, words: Sequence[str]) -> Command:
        return Command(shutil.which(words[0]) or words[0], words, os.environ, Path.cwd())

    def listeners(self) -> Sequence[tuple[int, int]]:
        return [(self.tree.pids[-1], self.service["port"])]

    def require_alive(self, when: str) -> None:
        if signal.SIGTERM in self.orders or self.tree.wait(0, *self.watched):
            raise Failure(f"it was told to end {when}")
        if self._has_ended():
            code = self.tree.ended.get(self.tree.pids[-1], 0)
            raise Failure(f"it ended {describe_exit(code)} {when}")

    def _serve(self) -> None:
        """Until the service has ended by itself, was told to, or is to be killed.

        Raises ``Failure`` where it does not start again.
        """
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
            if order is None and self.tree.wait(None, *self.watched):
                return

    def _start(self) -> None:
        """Starts the service, and waits until it is ready. Raises ``Failure``."""
        self.seen = self.sizes()
        self.tree.start(self.command(self.service["command"]))
        self.wait(self.service["ready"], "ready")
        self.is_up = True

    def _end(self) -> None:
        """Ends the service and all that it has started."""
        self.tree.signal(getattr(signal, f"SIG{self.service['stop']}"))
        end_s = time.monotonic() + ENDS_WITHIN_S
        while not self._has_ended():
            left_s = end_s - time.monotonic()
            if left_s <= 0 or self.tree.wait(left_s, *self.watched):
                break
        self.tree.kill_all()
        self.is_up = False

    def _has_ended(self) -> bool:
        return not self.tree.reap() or self.tree.pids[-1] in self.tree.ended

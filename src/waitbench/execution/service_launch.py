"""Runs one service, counts it with its descendants, and ends them with it.

Once it is ready, or has failed, the launcher writes one line of JSON to the report, which is a
pipe: its ``RunningService``, or the reason. SIGTERM ends service and launcher, ``STOP`` the service
only, and ``START`` starts it again with the same port, folder and counters.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from waitbench.execution.conditions import ConditionLaunch, describe_exit
from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import Failure
from waitbench.model.launch import RunningService, ServiceConfig, encode
from waitbench.system.counters import serving

ENDS_WITHIN_S = 10.0
STOP, START = signal.SIGUSR1, signal.SIGUSR2
"""Signals that stop a service and start it again."""


class ServiceLaunch(ConditionLaunch):
    """One run of a service."""

    def __init__(self, report: Path, service: ServiceConfig, tree: CountedTree) -> None:
        self.service = service
        log = Path(service.log)
        super().__init__(tree, [log], log.with_suffix(".called"))
        self.report = report
        self.orders: list[int] = []
        self.is_up = False

    def run(self) -> int:
        """Returns the service's exit code, or 128 + N where signal N has killed it."""
        for number in (signal.SIGTERM, STOP, START):
            signal.signal(number, lambda number, _frame: self.orders.append(number))
        # Otherwise it would preempt a worker on its CPU, which would have an answer before it
        # slept: wake-ups would depend on where the kernel puts both.
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        # Orphans of the service must not hold the pipe open.
        os.set_inheritable(int(self.report.name), False)
        try:
            self._start()
        except Failure as failure:
            self._report(str(failure))
            return 1
        with (
            serving(lambda: round(self.tree.cpu_s() * 1e9)) as cpu,
            serving(lambda: int(self.is_up)) as up,
        ):
            pid, launcher = self.tree.pids[0], os.getpid()
            self._report(
                RunningService(config=self.service, launcher=launcher, pid=pid, cpu=cpu, up=up)
            )
            try:
                self._serve()
            except Failure as failure:
                sys.stderr.write(f"{failure}\n")
                return 1
        self.tree.kill_all()
        code = self.tree.exit_codes.get(self.tree.pids[-1], 0)
        return code if code >= 0 else 128 - code

    def _report(self, state: RunningService | str) -> None:
        self.report.write_text(f"{encode(state)}\n")

    def command(self, words: Sequence[str]) -> Command:
        return Command(shutil.which(words[0]) or words[0], words, os.environ, Path.cwd())

    def listeners(self) -> Sequence[tuple[int, int]]:
        return [(self.tree.pids[-1], self.service.port)]

    def require_alive(self, when: str) -> None:
        if signal.SIGTERM in self.orders:
            raise Failure(f"it was told to end {when}")
        if self._has_ended():
            code = self.tree.exit_codes.get(self.tree.pids[-1], 0)
            raise Failure(f"it ended {describe_exit(code)} {when}")

    def _serve(self) -> None:
        """Obeys orders until the service has ended. Raises ``Failure`` if it does not restart."""
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
            if order is None:
                self.tree.wait(None)

    def _start(self) -> None:
        self.output_offsets = self.sizes()
        self.tree.start(self.command(self.service.command))
        self.wait(self.service.ready, "ready")
        self.is_up = True

    def _end(self) -> None:
        self.tree.signal(getattr(signal, f"SIG{self.service.stop}"))
        end_s = time.monotonic() + ENDS_WITHIN_S
        while not self._has_ended():
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                break
            self.tree.wait(left_s)
        self.tree.kill_all()
        self.is_up = False

    def _has_ended(self) -> bool:
        return not self.tree.reap() or self.tree.pids[-1] in self.tree.exit_codes

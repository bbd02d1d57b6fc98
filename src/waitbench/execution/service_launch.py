"""Runs one service; counts and ends it with all its descendants.

When the service is ready, or has failed, the launcher writes one line of JSON to the report, a
pipe: the configuration with its address, or the reason. Then it carries out orders that come by a
socket, and answers each with the CPU time that the service has used so far. SIGTERM ends service
and launcher.
"""

import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from waitbench.execution.conditions import ConditionLaunch, describe_exit
from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import Failure
from waitbench.model.launch import ServiceConfig, encode
from waitbench.system import proc

ENDS_WITHIN_S = 10.0
READ, STOP, START = "read", "stop", "start"
"""Orders: to do nothing but answer, to stop the service, and to start it again with the same port,
folder and counters."""
_READ_TIMEOUT_S = 10.0


def request(service: ServiceConfig, order: str = READ) -> float:
    """Sends an order and waits until it is carried out. Returns the service's CPU time in s.

    NaN if the CPU time is unknown. Raises ``OSError`` if the service's launcher has ended.
    """
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_READ_TIMEOUT_S if order == READ else None)
        client.connect(f"\0{service.address}")
        client.sendall(order.encode())
        cpu_s = client.recv(64)
    if not cpu_s:
        raise ConnectionError(f"{service.address} does not answer")
    return float(cpu_s)


class ServiceLaunch(ConditionLaunch):
    """One run of a service."""

    def __init__(self, report: Path, service: ServiceConfig, tree: CountedTree) -> None:
        self.service = service
        log = Path(service.log)
        super().__init__(tree, [log], command_output=log.with_suffix(".called"))
        self.report = report
        self.must_end = False
        self.is_up = False

    def run(self) -> int:
        """Returns the service's exit code, or 128 + N if signal N killed it."""
        signal.signal(signal.SIGTERM, self._end_soon)
        # Else the service, on the CPU of a worker, would preempt it and answer before the worker
        # sleeps: wake-ups would depend on the CPUs that the kernel chooses for both.
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        # Processes that outlive the launcher must not hold the pipe open.
        os.set_inheritable(int(self.report.name), False)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("")  # the kernel chooses a unique abstract name
            listener.listen(128)
            address = listener.getsockname()[1:].decode("ascii")
            try:
                self._start()
            except Failure as failure:
                self._report(str(failure))
                return 1
            memory = proc.memory(self.tree.processes())
            used = memory.proportional if memory else 0
            self._report(self.service._replace(address=address, memory=used))
            try:
                self._serve(listener)
            except Failure as failure:
                sys.stderr.write(f"{failure}\n")
                return 1
        code = self.tree.exit_codes.get(self.tree.pids[-1], 0)
        return code if code >= 0 else 128 - code

    def _end_soon(self, *_signal: object) -> None:
        self.must_end = True

    def _report(self, state: ServiceConfig | str) -> None:
        self.report.write_text(f"{encode(state)}\n")

    def command(self, words: Sequence[str]) -> Command:
        return Command(shutil.which(words[0]) or words[0], words, os.environ, Path.cwd())

    def listeners(self) -> Sequence[tuple[int, int]]:
        return [(self.tree.pids[-1], self.service.port)]

    def require_alive(self, when: str) -> None:
        if self.must_end:
            raise Failure(f"it was told to end {when}")
        if self._has_ended():
            code = self.tree.exit_codes.get(self.tree.pids[-1], 0)
            raise Failure(f"it ended {describe_exit(code)} {when}")

    def _serve(self, listener: socket.socket) -> None:
        """Carries out orders until the service ends or must end. Raises ``Failure``."""
        while not self.must_end and not (self.is_up and self._has_ended()):
            for _ in self.tree.wait(None, listener.fileno()):
                client, _ = listener.accept()
                with client:
                    order = client.recv(64).decode()
                    if order == STOP:
                        self._end()
                    elif order == START:
                        self._start()
                    with suppress(OSError):  # the client is gone
                        client.sendall(str(self.tree.cpu_s()).encode())
        self._end()

    def _start(self) -> None:
        self.match_from_now()
        self.tree.start(self.command(self.service.command))
        self.wait(self.service.ready, "ready")
        self.is_up = True

    def _end(self) -> None:
        self.tree.signal(getattr(signal, f"SIG{self.service.stop}"))
        end_s = time.monotonic() + ENDS_WITHIN_S
        while not self._has_ended() and (left_s := end_s - time.monotonic()) > 0:
            self.tree.wait(left_s)
        self.tree.kill_all()
        self.is_up = False

    def _has_ended(self) -> bool:
        return not self.tree.reap() or self.tree.pids[-1] in self.tree.exit_codes
